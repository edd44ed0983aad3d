"""A service to be broken: a database, dispatchers on simulated devices that are started again when they end, and the
journal in which the devices note what they ran."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from sqlalchemy import text

from autosched.client import Client
from autosched.db.store import SqlTuningStore, connect
from autosched.entry.supervise import RestartRules, Supervisor
from autosched.graph.importers.json import import_json
from autosched.measure.journal import read_lines
from autosched.testing.waiting import until
from tests.api.process import ENVIRONMENT
from tests.service.submissions import matmul_document, submit

NEVER_GIVE_UP = RestartRules(0.1, 0.5, 20.0, early_ends=1_000_000, grace_seconds=10.0)


@dataclass(frozen=True)
class Row:
    """A trial as it stands: `outcome` is None while it is open; a reused one was never run."""

    attempt: int
    outcome: str | None
    is_reused: bool


@dataclass(frozen=True)
class Settings:
    """`seconds`: a run. `lease_seconds`: the shorter, the sooner a death is noticed. `port`: where an API listens, by
    which jobs are submitted then."""

    dispatchers: int = 2
    seconds: float = 0.2
    lease_seconds: float = 3.0
    slots: int = 4
    quantum_seconds: float = 30.0
    port: int | None = None


@dataclass(eq=False)
class Accounts:
    """What a service is given to do, and what can be said of it from outside: its rows, and the journal of what ran.
    `devices`: how many there are."""

    journal: Path
    store: SqlTuningStore
    devices: int
    client_url: str | None = None
    sizes: Iterator[int] = field(default_factory=lambda: iter(range(1_000_000)))

    def feed(self, *, jobs: int = 4, trials: int = 40) -> None:
        """Keeps so many jobs under way."""
        for _ in range(jobs - sum(self.store.queue_depth().values())):
            self._submit(next(self.sizes), trials)

    def _submit(self, size: int, trials: int) -> None:
        if self.client_url is None:
            submit(self.store, size, trials=trials)
            return
        graph = import_json(matmul_document(size))
        with Client(self.client_url) as client:
            client.submit(graph, trials=trials, policy="random")

    def rows(self) -> dict[str, Row]:
        """Every trial of submitted jobs, by id."""
        query = "select task_id, number, attempt, outcome, reused_id from trials"
        with self.store.engine.connect() as connection:
            found = connection.execute(text(query)).all()
        return {f"{t}.{n}": Row(a, o, r is not None) for t, n, a, o, r in found}

    def n_closed(self) -> int:
        """Trials that were run and closed."""
        query = "select count(*) from trials where outcome is not null and reused_id is null"
        with self.store.engine.connect() as connection:
            return int(connection.execute(text(query)).scalar_one())

    def runs(self) -> list[tuple[str, int]]:
        """Trial and attempt of every run, as the devices noted them."""
        return [(e["trial"], e["attempt"]) for e in read_lines(self.journal)]


@dataclass(eq=False)
class World(Accounts):
    """`settings` and `supervisor` of its processes."""

    settings: Settings = Settings()
    supervisor: Supervisor = field(kw_only=True)

    def process(self, name: str) -> psutil.Process:
        """The process of this name, once it is up."""

        def found() -> psutil.Process | None:
            for child in self.supervisor.children:
                if child.name == name and child.process and child.process.poll() is None:
                    return psutil.Process(child.process.pid)
            return None

        process = until(found)
        assert process is not None
        return process

    def below(self, name: str, kind: str) -> list[psutil.Process]:
        """Processes of a kind under a dispatcher: job, runner or builder."""
        try:
            return [p for p in self.process(name).children(recursive=True) if kind_of(p) == kind]
        except psutil.Error:
            return []


def kind_of(process: psutil.Process) -> str:
    """job, runner, builder, or "" for anything else."""
    try:
        line = process.cmdline()
        parent = process.parent()
        above = parent.cmdline() if parent else []
    except psutil.Error:
        return ""
    if line and line[-1] in {"runner", "builder"}:
        return line[-1]
    is_fork = any("multiprocessing.forkserver" in a for a in line) and line == above
    return "job" if is_fork else ""


@contextmanager
def world(url: str, folder: Path, settings: Settings = Settings()) -> Iterator[World]:
    """The service running; at the end it is stopped politely."""
    journal = folder / "journal"
    commands = {
        f"dispatcher{i}": [
            *(sys.executable, "-m", "autosched_workers", "--slots", str(settings.slots)),
            *("--lease-seconds", str(settings.lease_seconds)),
            *("--quantum-seconds", str(settings.quantum_seconds)),
            *("--simulate", str(settings.seconds), "--devices", f"device{i}"),
            *("--journal", str(journal)),
        ]
        for i in range(settings.dispatchers)
    }
    if settings.port is not None:
        commands["API"] = [sys.executable, "-m", "autosched_api", "--port", str(settings.port)]
    environment = {**ENVIRONMENT, "AUTOSCHED_DB": url}
    store = connect(url)
    supervisor = Supervisor(commands, environment, lambda words: None, NEVER_GIVE_UP)
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    try:
        client_url = None if settings.port is None else f"http://127.0.0.1:{settings.port}"
        yield World(
            journal,
            store,
            settings.dispatchers,
            client_url,
            settings=settings,
            supervisor=supervisor,
        )
    finally:
        supervisor.stop()
        thread.join()
        store.close_connections()


def end(process: psutil.Process, number: signal.Signals = signal.SIGKILL) -> None:
    """A signal to a process that may be gone already."""
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
