"""Connections and transactions: what a database's answers mean, and when to ask again.

SQLite runs in write-ahead mode: readers never wait, one writer at a time, and a commit is on the disk when it returns.
A transaction that will write takes the write lock as it begins; taken later it could fail half-way for a lock that
another writer got first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import (
    DBAPIError,
    IntegrityError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.exc import (
    TimeoutError as NoConnectionFree,
)

from autosched.db.location import make_directory, printable
from autosched.errors import InvalidInput, StoreError

Result = TypeVar("Result")

BUSY_SECONDS = 30
WRITE_ATTEMPTS = 5
CONNECTIONS = 10

PRAGMAS = (
    f"pragma busy_timeout = {BUSY_SECONDS * 1000}",
    "pragma journal_mode = wal",
    "pragma synchronous = full",
    "pragma foreign_keys = on",
)

POSTGRES_ARGUMENTS = {"connect_timeout": 10, "application_name": "autosched"}

_SERIALIZATION_FAILURES = frozenset({"40001", "40P01"})


def open_engine(url: URL, *, connections: int = CONNECTIONS) -> Engine:
    """An engine that has answered once and opens at most so many connections at a time. InvalidInput: no file can be
    there, it is no database, nobody answers."""
    make_directory(url)
    engine = create_engine(
        url,
        json_serializer=partial(json.dumps, allow_nan=False, separators=(",", ":")),
        pool_pre_ping=url.get_backend_name() != "sqlite",
        pool_size=connections,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        connect_args={} if url.get_backend_name() == "sqlite" else POSTGRES_ARGUMENTS,
    )
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)
    try:
        with write(engine):
            pass
    except DBAPIError as error:
        engine.dispose()
        raise InvalidInput(f"database {printable(url)!r} {_unopened(url, error)}") from None
    return engine


def _unopened(url: URL, error: DBAPIError) -> str:
    """Why a database could not be opened, in a line."""
    said = " ".join(str(error.orig).split())
    if url.get_backend_name() == "sqlite":
        return f"cannot be opened for writing: {said}"
    if f'database "{url.database}" does not exist' in said:
        return f"does not exist: `createdb {url.database}` makes one"
    return f"cannot be reached: {said}"


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def _connect(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin by our own statement below
        for pragma in PRAGMAS:
            connection.execute(pragma)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("begin immediate" if writing else "begin")


def ping(engine: Engine) -> None:
    """StoreError: nobody answers."""
    in_read(engine, lambda connection: connection.execute(text("select 1")).all())


@contextmanager
def write(engine: Engine) -> Iterator[Connection]:
    """One write transaction: committed at the end of the block, rolled back by an error."""
    with engine.execution_options(writing=True).begin() as connection:
        yield connection


def in_write(engine: Engine, work: Callable[[Connection], Result]) -> Result:
    """The result of `work` in one committed write transaction.

    `work` runs again if another transaction got in between: a unique key taken since we looked, or a serialization
    failure. A StoreError says that the database cannot answer.
    """
    for left in reversed(range(WRITE_ATTEMPTS)):
        try:
            with write(engine) as connection:
                return work(connection)
        except IntegrityError:
            if not left:
                raise
        except OperationalError as error:
            if not left or getattr(error.orig, "sqlstate", None) not in _SERIALIZATION_FAILURES:
                raise StoreError(f"the database cannot write: {error.orig}") from error
        except SQLAlchemyError as error:
            raise _meaning(error) from error
    raise AssertionError("the last attempt returns or raises")


def in_read(
    engine: Engine, work: Callable[[Connection], Result], *, one_state: bool = False
) -> Result:
    """The result of `work` in one transaction; with `one_state` its statements see the same state of the database,
    which costs PostgreSQL more. A StoreError says that the database cannot answer."""
    if one_state and engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    with reading(), engine.begin() as connection:
        return work(connection)


@contextmanager
def reading() -> Iterator[None]:
    """What the database's errors mean to who reads: StoreError where it cannot answer."""
    try:
        yield
    except OperationalError as error:
        raise StoreError(f"the database cannot read: {error.orig}") from error
    except SQLAlchemyError as error:
        raise _meaning(error) from error


def _meaning(error: SQLAlchemyError) -> Exception:
    """A lost connection may come back, and one will be free; everything else is a bug of ours."""
    if isinstance(error, NoConnectionFree):
        return StoreError(f"every connection to the database is in use: {error}")
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return StoreError(f"the database has gone: {error.orig}")
    return error
