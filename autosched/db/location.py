"""Where the database is: a URL for the engine, from what the user gave or from the user's data directory.

None                            ->  sqlite file in the user's data directory
runs.db, /data/runs.db          ->  sqlite file
sqlite:///runs.db               ->  the same
postgresql://user@host/name     ->  PostgreSQL through psycopg 3
"""

from __future__ import annotations

from pathlib import Path

import platformdirs
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from autosched.errors import InvalidInput

DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg"}


def default_url() -> str:
    """A file in the user's data directory, as the platform has it."""
    return f"sqlite:///{platformdirs.user_data_path('autosched') / 'autosched.db'}"


def simulated_url() -> str:
    """A file beside it, for a service without kernels: what that measures is made up."""
    return f"sqlite:///{platformdirs.user_data_path('autosched') / 'simulated.db'}"


def database_url(text: str | None) -> URL:
    """The URL for the engine; InvalidInput names the text and what is wrong with it."""
    given = default_url() if text is None else text
    if "://" not in given:
        given = f"sqlite:///{given}"
    try:
        url = make_url(given)
    except (ArgumentError, ValueError) as error:
        raise InvalidInput(f"database {given!r} is not a URL: {error}") from None
    backend = url.drivername.partition("+")[0]
    if backend not in DRIVERS:
        known = " or ".join(f"{name}://" for name in DRIVERS)
        raise InvalidInput(f"database {printable(url)!r} is not one of {known}")
    if backend == "sqlite" and url.database in {None, "", ":memory:"}:
        raise InvalidInput(f"database {given!r} names no file, and must: sqlite:///PATH")
    return url.set(drivername=DRIVERS[backend])


def printable(url: URL) -> str:
    """The URL for messages, as users write it, without its password."""
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def is_missing(url: URL) -> bool:
    """Whether it is a SQLite file that is not there yet."""
    return url.get_backend_name() == "sqlite" and not Path(str(url.database)).is_file()


def require_file(url: URL) -> None:
    """InvalidInput if a SQLite database is not there: whoever only reads has mistyped it, and making one hides that."""
    if is_missing(url):
        raise InvalidInput(
            f"database {str(url.database)!r} does not exist: `autosched tune` or `autosched db upgrade` makes one"
        )


def make_directory(url: URL) -> None:
    """The directory of a SQLite file; InvalidInput if it cannot be made."""
    if url.get_backend_name() != "sqlite" or url.database is None:
        return
    directory = Path(url.database).parent
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"database directory {str(directory)!r} cannot be made: {error.strerror}"
        ) from None
