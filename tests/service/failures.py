"""The ways in which a service is broken, one function each, by name."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Mapping

import psutil

from autosched.testing.postgres import Cluster
from autosched.testing.waiting import until
from tests.service.world import World, end


def kill_dispatcher(world: World, postgres: Cluster, rng: random.Random) -> None:
    end(world.process(_any(world, rng)))


def kill_job(world: World, postgres: Cluster, rng: random.Random) -> None:
    _kill_below(world, rng, "job")


def kill_runner(world: World, postgres: Cluster, rng: random.Random) -> None:
    _kill_below(world, rng, "runner")


def kill_builder(world: World, postgres: Cluster, rng: random.Random) -> None:
    _kill_below(world, rng, "builder")


def restart_postgres(world: World, postgres: Cluster, rng: random.Random) -> None:
    postgres.restart("immediate")


def stop_dispatcher(world: World, postgres: Cluster, rng: random.Random) -> None:
    """It and all below it stand still until another has had its jobs, then go on."""
    process = world.process(_any(world, rng))
    family = [process, *process.children(recursive=True)]
    for member in family:
        end(member, signal.SIGSTOP)
    try:
        patience = 2 * world.settings.lease_seconds
        until(lambda: _has_lapsed(world, process), seconds=patience + 30)
    finally:
        for member in reversed(family):
            end(member, signal.SIGCONT)


def kill_api(world: World, postgres: Cluster, rng: random.Random) -> None:
    end(world.process("API"))


FAILURES: Mapping[str, Callable[[World, Cluster, random.Random], None]] = {
    "dispatcher killed": kill_dispatcher,
    "job's process killed": kill_job,
    "runner killed": kill_runner,
    "builder killed": kill_builder,
    "database restarted": restart_postgres,
    "dispatcher stood still": stop_dispatcher,
    "API killed": kill_api,
}


def _any(world: World, rng: random.Random) -> str:
    return f"dispatcher{rng.randrange(world.settings.dispatchers)}"


def _kill_below(world: World, rng: random.Random, kind: str) -> None:
    """One of a kind, under whichever dispatcher has one."""

    def found() -> list[psutil.Process]:
        names = [f"dispatcher{i}" for i in range(world.settings.dispatchers)]
        return [p for name in names for p in world.below(name, kind)]

    end(rng.choice(until(found, seconds=60)))


def _has_lapsed(world: World, process: psutil.Process) -> bool:
    """Whether no live lease of a holder with this process id is left."""
    from sqlalchemy import text

    query = "select holder from leases where until > extract(epoch from clock_timestamp())"
    with world.store.engine.connect() as connection:
        holders = connection.execute(text(query)).scalars().all()
    return not any(f"-{process.pid}-" in holder for holder in holders)
