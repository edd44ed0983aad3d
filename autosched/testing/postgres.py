"""A PostgreSQL cluster for tests: unprivileged, in memory, gone at the end; a fresh database in a tenth of a second.

    with cluster(tmp) as postgres:
        url = postgres.new_database()       # at the current schema: a copy of a template
        postgres.restart("immediate")       # as `pg_ctl restart -m immediate` does: connections are cut

The server refuses to run as root, so root starts it as the user `postgres`, and anybody else as oneself. It listens on
a socket in its own directory alone, unless told otherwise. A server whose test process was killed is ended by the next one to start here.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import quote

from autosched.db.upgrade import upgrade
from autosched.testing.ownership import is_alive, own_tag

SERVER_USER = "postgres"
PREFIX = "pg-"
OWNER = "owner"
"""Names the test process in a server's directory."""

TEMPLATE = "autosched_template"
WAIT_SECONDS = 60
INSTALLED = "/usr/lib/postgresql"

SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "fsync": "off",
    "timezone": "'UTC'",
    "dynamic_shared_memory_type": "mmap",  # in its directory, and gone with it
}
"""Memory survives the death of a server, so that nothing is lost without fsync; timings of commits need it."""


class NoPostgres(Exception):
    """PostgreSQL is not installed, or nobody may run it here; the message says which."""


@dataclass
class Cluster:
    """A running server; `directory` holds data, socket and log."""

    directory: Path
    programs: Path
    as_user: Sequence[str]
    _numbers: Iterator[int] = field(default_factory=count)

    def url(self, database: str) -> str:
        """Where `autosched.db.connect` finds a database of this server."""
        user = SERVER_USER if self.as_user else pwd.getpwuid(os.getuid()).pw_name
        return f"postgresql://{user}@/{database}?host={quote(str(self.directory), safe='')}"

    def new_database(self, *, template: str = TEMPLATE) -> str:
        """The URL of a new database, at the current schema unless another template is named."""
        name = f"test{next(self._numbers)}"
        self.sql(f"create database {name} template {template}")
        return self.url(name)

    def empty_database(self) -> str:
        """The URL of a new database without tables."""
        return self.new_database(template="template0")

    def drop(self, url: str) -> None:
        """Drop a database, whoever is connected."""
        name = url.partition("@/")[2].partition("?")[0]
        self.sql(f"drop database if exists {name} with (force)")

    def sql(self, statement: str, *, database: str = "postgres") -> str:
        """Run one statement and answer its rows, a line each."""
        arguments = ["-h", str(self.directory), "-d", database, "-v", "ON_ERROR_STOP=1", "-qAtc"]
        return self.program("psql", *arguments, statement)

    def program(self, name: str, *arguments: str) -> str:
        """Run one of PostgreSQL's programs as the server's user."""
        command = [*self.as_user, str(self.programs / name), *arguments]
        done = subprocess.run(
            command, cwd=self.directory, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{name} {' '.join(arguments)}: {done.stderr or done.stdout}")
        return done.stdout

    def start(self) -> None:
        log = str(self.directory / "log")
        self._control("start", "-l", log, "-o", f"-k {self.directory}")

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is a crash: nothing is written any more, and the log is replayed at the next start."""
        self._control("stop", "-m", mode)

    def restart(self, mode: str = "fast") -> None:
        self.stop(mode)
        self.start()

    def is_running(self) -> bool:
        try:
            self._control("status")
        except RuntimeError:
            return False
        return True

    def _control(self, action: str, *arguments: str) -> None:
        wait = ("-w", "-t", str(WAIT_SECONDS), "-s")
        self.program("pg_ctl", action, "-D", str(self.directory / "data"), *wait, *arguments)


@contextmanager
def cluster(
    *,
    parent: Path | None = None,
    settings: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
    clients: str | None = None,
) -> Iterator[Cluster]:
    """A running cluster, in memory unless a `parent` directory is named (by a short path: sockets have short ones), with
    a template database at the current schema. `settings` go over `SETTINGS`; `prefix` is what its commands begin with, as
    on another host; `clients` are the addresses that it believes, besides its own. NoPostgres: it cannot be had."""
    programs, as_user = installed_programs(), (*prefix, *_as_server_user())
    home = parent or Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())
    for left in home.glob(f"{PREFIX}*/{OWNER}"):
        _end_if_left(left, programs, as_user)
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=home))
    postgres = Cluster(directory, programs, as_user)
    try:
        (directory / OWNER).write_text(own_tag())
        if as_user:
            shutil.chown(directory, SERVER_USER)
        directory.chmod(0o755)
        data = str(directory / "data")
        postgres.program("initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--no-sync")
        _write_settings(postgres, SETTINGS | dict(settings or {}))
        if clients is not None:
            _append(postgres, "pg_hba.conf", f"host all all {clients} trust\n")
        postgres.start()
        try:
            postgres.sql(f"create database {TEMPLATE} template template0")
            upgrade(postgres.url(TEMPLATE))
            yield postgres
        finally:
            if postgres.is_running():
                postgres.stop("immediate")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _end_if_left(owner: Path, programs: Path, as_user: Sequence[str]) -> None:
    """Stop and remove a server whose owner has ended."""
    try:
        if is_alive(owner.read_text()):
            return
    except OSError:
        return  # being written or removed
    left = Cluster(owner.parent, programs, as_user)
    with suppress(RuntimeError, OSError):
        left.stop("immediate")
    shutil.rmtree(owner.parent, ignore_errors=True)


def installed_programs() -> Path:
    """The directory of the newest PostgreSQL's programs."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += [p.parent for p in Path(INSTALLED).glob("*/bin/initdb")]
    if not places:
        raise NoPostgres("PostgreSQL is not installed")
    return max(places, key=lambda p: [int(n) for n in p.parent.name.split(".") if n.isdecimal()])


def _as_server_user() -> tuple[str, ...]:
    """The prefix of commands that run as the server's user."""
    if os.getuid() != 0:
        return ()
    try:
        user = pwd.getpwnam(SERVER_USER)
    except KeyError:
        raise NoPostgres(
            f"root cannot run PostgreSQL, and there is no user {SERVER_USER}"
        ) from None
    if shutil.which("setpriv") is None:
        raise NoPostgres(f"setpriv, which starts it as {SERVER_USER}, is not installed")
    return ("setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")


def _write_settings(postgres: Cluster, settings: Mapping[str, str]) -> None:
    lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
    _append(postgres, "postgresql.conf", lines)


def _append(postgres: Cluster, name: str, lines: str) -> None:
    with (postgres.directory / "data" / name).open("a") as file:
        file.write(lines)
