"""Bringing a database to the schema of this version, all in one transaction: a killed upgrade leaves nothing half.

Revisions are numbered 0001, 0002, ...; a database of a later one than ours is refused, never touched.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError

import autosched
from autosched.db.engine import open_engine, write
from autosched.db.location import database_url, printable
from autosched.db.service_schema import LeaseRow
from autosched.errors import InvalidInput

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0003"
"""The revision that `schema` describes."""

METADATA = LeaseRow.metadata
"""Of all tables: those of the service refer to the others."""

_LOCK_NUMBER = 0x6175746F
"""Names our lock among a PostgreSQL database's advisory locks."""


def upgrade(url: str | None) -> str:
    """Upgrade the database at `url` (None: the default one), made if need be; returns the revision it was at before,
    "" for an empty one. InvalidInput: it cannot be opened, or its schema is newer than ours."""
    engine = open_engine(database_url(url))
    try:
        return upgrade_engine(engine)
    finally:
        engine.dispose()


def upgrade_engine(engine: Engine) -> str:
    """The same on an open engine."""
    with engine.begin() as connection:
        before = _checked_revision(connection)
    if before == HEAD:
        return before
    with write(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("select pg_advisory_xact_lock(:n)"), {"n": _LOCK_NUMBER})
        before = _checked_revision(connection)
        from alembic import command  # takes a third of a second, and most databases are up to date

        try:
            command.upgrade(migration_config(connection), HEAD)
        except DBAPIError as error:
            raise InvalidInput(
                f"database {printable(engine.url)!r} cannot be upgraded: {error.orig}"
            ) from error
    return before


def current_revision(connection: Connection) -> str:
    """The revision of the database, "" if it has none."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.scalar(text("select max(version_num) from alembic_version")) or "")


def migration_config(connection: Connection) -> Config:
    """Alembic's configuration over our scripts and this connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(scripts_directory()).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["metadata"] = METADATA
    return config


def scripts_directory() -> Path:
    """The migration scripts: inside the package once installed, beside it in a working copy."""
    package = Path(autosched.__file__).parent
    installed = package / "migrations"
    return installed if installed.is_dir() else package.parent / "migrations"


def _checked_revision(connection: Connection) -> str:
    revision = current_revision(connection)
    if revision > HEAD:
        raise InvalidInput(
            f"database {printable(connection.engine.url)!r} has schema {revision}, newer than "
            f"{HEAD}, the last that this autosched knows: use a newer autosched"
        )
    return revision
