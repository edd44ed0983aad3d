"""Inserts that meet a row which is there, on both databases: `insert ... on conflict`, which never fails for a race."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from autosched.db.rows import Columns


def insert_into(connection: Connection, table: Any) -> Any:
    """The database's own insert, which knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    return (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table)


def insert_new(connection: Connection, table: Any, rows: Sequence[Columns]) -> None:
    """Insert the rows that are not there; give them in one order everywhere, so that two inserters cannot lock each
    other out."""
    if rows:
        connection.execute(insert_into(connection, table).on_conflict_do_nothing(), rows)
