"""The database's clock: the only one that all holders of leases share.

    PostgreSQL: extract(epoch from clock_timestamp())       SQLite: (julianday('now') - 2440587.5) * 86400

It is read as a statement runs, not as its transaction began, for a transaction may have waited for a lock.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Double, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class now_seconds(FunctionElement[float]):  # noqa: N801 - an SQL function, called like those of `func`
    """Seconds since 1970, finer than a millisecond on PostgreSQL and as fine on SQLite."""

    type = Double()
    inherit_cache = True


@compiles(now_seconds, "postgresql")
def _postgresql(element: now_seconds, compiler: Any, **options: Any) -> str:
    return "cast(extract(epoch from clock_timestamp()) as double precision)"


@compiles(now_seconds, "sqlite")
def _sqlite(element: now_seconds, compiler: Any, **options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


def instant(connection: Connection) -> datetime:
    """Now."""
    return datetime.fromtimestamp(connection.execute(select(now_seconds())).scalar_one(), UTC)
