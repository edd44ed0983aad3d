"""A connection kept for reads that come by the thousand.

No transaction is put around a statement, nobody asks whether the connection still lives, and none is taken from a pool:
a read costs one round trip instead of four. A connection that was lost is opened again, and its read made once more.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from autosched.db.engine import in_read, reading

Result = TypeVar("Result")


class SteadyReader:
    """Reads of one statement each, one at a time. SQLite, whose calls are no round trips, reads as it always does."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self._connection: Connection | None = None

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """The result of `work`. StoreError: the database cannot answer."""
        if self._engine.dialect.name == "sqlite":
            return in_read(self._engine, work)
        with self._lock, reading():
            for is_last in (False, True):
                try:
                    return self._once(work)
                except DBAPIError as error:
                    self.close()
                    if is_last or not error.connection_invalidated:
                        raise
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _once(self, work: Callable[[Connection], Result]) -> Result:
        if self._connection is None:
            kept = self._engine.execution_options(isolation_level="AUTOCOMMIT")
            self._connection = kept.connect()
        try:
            return work(self._connection)
        finally:
            self._connection.rollback()  # of nothing: it ends what the library takes for a transaction
