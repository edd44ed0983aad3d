"""A service on several hosts: database, head, coordinator and workers, each program as docker-compose.yml runs it."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from autosched.db.store import connect
from autosched.testing.waiting import until
from tests.cluster.compose import command_of, names_of
from tests.cluster.database import Database, database_on
from tests.cluster.hosts import Host, Network
from tests.cluster.keeping import Keeper, Program
from tests.service.world import Accounts

API_PORT = 8700


@dataclass(frozen=True)
class ClusterSettings:
    """`seconds`: a simulated run; None: real kernels. `cores`, `cpuinfo`: of each worker host. `joining_seconds`: for the
    workers to be there, which takes long where they are calibrated."""

    workers: int = 2
    seconds: float | None = 0.2
    lease_seconds: float = 15.0
    cores: Sequence[tuple[int, ...] | None] = (None, None)
    cpuinfo: Sequence[Path | None] = (None, None)
    joining_seconds: float = 180.0


@dataclass(eq=False)
class ClusterWorld(Accounts):
    network: Network = field(kw_only=True)
    database: Database = field(kw_only=True)
    keeper: Keeper = field(kw_only=True)
    coordinator: Host = field(kw_only=True)
    head: Host = field(kw_only=True)
    workers: list[Host] = field(kw_only=True)
    environment: Mapping[str, str] = field(kw_only=True)
    """What the environment of the compose file would say."""

    @property
    def hosts(self) -> list[Host]:
        return [self.coordinator, self.head, *self.workers]

    def processes(self, host: Host, *words: str) -> list[psutil.Process]:
        """Those whose command line has a word; of actors, it is their title."""
        return [p for p in host.processes() if any(w in _line(p) for w in words)]

    def alive_workers(self) -> set[str]:
        return {w.host for w in self.store.workers(alive_only=True) if w.state == "active"}

    def wait_for_workers(self, seconds: float = 180.0) -> None:
        wanted = {host.name for host in self.workers}
        until(lambda: wanted <= self.alive_workers(), seconds=seconds, pause=0.2)

    def add_builder(self, *options: str, seconds: float = 300.0) -> Host:
        """A host more, like the workers, that compiles for them and has no device."""
        like = self.keeper.programs[self.workers[0].name]
        host = self.network.host("builder")
        command = (*like.command, "--build-only", *options)
        self.keeper.keep(Program(host.name, host, command, like.environment))
        until(lambda: host.name in self.alive_workers(), seconds=seconds)
        return host


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        return ""


@contextmanager
def cluster_world(
    network: Network, settings: ClusterSettings = ClusterSettings()
) -> Iterator[ClusterWorld]:
    """The service running, its workers there."""
    coordinator = network.host("coordinator", publish=(API_PORT,))
    head = network.host("head")
    workers = [
        network.host(f"worker{i}", cores=settings.cores[i], cpuinfo=settings.cpuinfo[i])
        for i in range(settings.workers)
    ]
    with database_on(network.host("database"), is_empty=True) as database:
        environment = {
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "AUTOSCHED_DB": database.far,
        }
        coordinator.run(*command_of("migrate"), env=_told("migrate", environment))
        store, keeper = connect(database.near), Keeper()
        world = ClusterWorld(
            network.shared / "journal",
            store,
            settings.workers,
            network=network,
            database=database,
            keeper=keeper,
            coordinator=coordinator,
            head=head,
            workers=workers,
            environment=environment,
        )
        try:
            for program in _programs(world, settings):
                keeper.keep(program)
            world.wait_for_workers(settings.joining_seconds)
            yield world
        except BaseException:
            print(keeper.logs(), file=sys.stderr)
            raise
        finally:
            keeper.stop()
            store.close_connections()


def _programs(world: ClusterWorld, settings: ClusterSettings) -> Iterator[Program]:
    """Those of the compose file, each on its host; what is added are the options of a test."""
    lease = ("--lease-seconds", str(settings.lease_seconds))
    simulated = () if settings.seconds is None else ("--simulate", str(settings.seconds))
    more = {
        "dispatcher": lease,
        "worker": ("--journal", str(world.journal), *simulated),
        "worker-gpu": ("--journal", str(world.journal), *simulated),
    }
    places = {
        "head": [world.head],
        "api": [world.coordinator],
        "dispatcher": [world.coordinator],
        "worker": world.workers[:1],
        "worker-gpu": world.workers[1:],
    }
    for service, hosts in places.items():
        command = (*command_of(service), *more.get(service, ()))
        for host in hosts:
            name = host.name if host in world.workers else service
            yield Program(name, host, command, _told(service, world.environment))


def _told(service: str, environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[name] for name in names_of(service)}
