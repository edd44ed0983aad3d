"""`autosched serve`: the whole service on one host, in one command."""

from __future__ import annotations

import math
import os
import signal
import socket
import sys
import urllib.request
from collections.abc import Callable
from typing import Annotated

import typer

from autosched.cli import options
from autosched.cli.output import ERR
from autosched.cli.status import DONE, FAILED


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8700,
    db: options.Database = None,
    compiler: options.Compiler = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Another name that clients may call this server by."),
    ] = None,
    slots: Annotated[int, typer.Option(min=1, help="Jobs in progress at once.")] = 4,
    journal: options.Journal = None,
    simulate: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="No kernels: a simulated device, each run taking so long. To try a service out, on a database of its own.",
        ),
    ] = None,
) -> int:
    """Serve jobs over REST: API and dispatcher on this host, on SQLite or --db postgresql://...

    Beyond 127.0.0.1 every request needs a token (`autosched token create`). SIGTERM or Ctrl-C ends it; jobs go on where
    they were when it is started again.
    """
    from autosched.db.store import connect
    from autosched.entry.supervise import Supervisor

    _check_seconds(simulate)
    _check_free(host, port)
    url = _database(db, is_simulated=simulate is not None)
    store = connect(url, connections=1)  # what is wrong with the database is said here, once
    api = _command("autosched_api", host=host, port=port)
    for name in allow_host or ():
        api += ["--allow-host", name]
    dispatcher = _command(
        "autosched_workers", slots=slots, compiler=compiler, journal=journal, simulate=simulate
    )
    supervisor = Supervisor(
        {"API": api, "dispatcher": dispatcher},
        {**os.environ, "AUTOSCHED_DB": url},
        lambda words: ERR.print(words, markup=False),
        watch=Opening(f"http://{host}:{port}", lambda: bool(store.workers(alive_only=True))),
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: supervisor.stop())
    return DONE if supervisor.run() else FAILED


def _command(module: str, **options: object) -> list[str]:
    """What starts a program with these options; those that are None are left to it."""
    given = [(f"--{name}", str(value)) for name, value in options.items() if value is not None]
    return [sys.executable, "-m", module, *(word for pair in given for word in pair)]


def _check_free(host: str, port: int) -> None:
    """InvalidInput if nobody can listen there now."""
    from autosched.errors import InvalidInput

    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise InvalidInput(f"port {port} of {host!r} cannot be listened on: {error}") from None


def _check_seconds(simulate: float | None) -> None:
    """InvalidInput if no run can take so long."""
    from autosched.errors import InvalidInput

    if simulate is not None and not 0 <= simulate < math.inf:
        raise InvalidInput(f"--simulate {simulate:g}: must be seconds from 0 up")


def _database(given: str | None, *, is_simulated: bool) -> str:
    """The URL for every process, password and all. Says which one it is where that was not asked for or is not there."""
    from autosched.db.location import (
        database_url,
        default_url,
        is_missing,
        printable,
        simulated_url,
    )

    url = database_url(given or (simulated_url() if is_simulated else default_url()))
    name = url.database if url.get_backend_name() == "sqlite" else printable(url)
    if is_missing(url):
        ERR.print(f"new database {name}", markup=False)
    elif given is None:
        ERR.print(f"database {name}", markup=False)
    return url.render_as_string(hide_password=False)


class Opening:
    """Says once that the service is open: when its API answers and a worker has registered."""

    def __init__(self, url: str, has_worker: Callable[[], bool]) -> None:
        self._url = url
        self._has_worker = has_worker
        self._is_open = False

    def __call__(self) -> None:
        if not self._is_open and self._answers() and self._has_worker():
            self._is_open = True
            ERR.print(f"serving on {self._url}", markup=False)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/readyz", timeout=0.5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False
