"""The ways in which a service on several hosts is broken, one function each, by name."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import psutil

from autosched.testing.waiting import until
from tests.cluster.hosts import Host
from tests.cluster.world import ClusterWorld
from tests.service.world import end

Break = Callable[[ClusterWorld, random.Random, float], None]
"""The last argument: seconds that a link stays cut."""


def kill_api(world: ClusterWorld, rng: random.Random, cut_seconds: float) -> None:
    _kill_program(world, "api")


def kill_dispatcher(world: ClusterWorld, rng: random.Random, cut_seconds: float) -> None:
    _kill_program(world, "dispatcher")


def kill_bridge(world: ClusterWorld, rng: random.Random, cut_seconds: float) -> None:
    _kill_any(world, rng, [world.coordinator], "autosched_workers.cluster bridge")


def kill_actor(world: ClusterWorld, rng: random.Random, cut_seconds: float) -> None:
    _kill_any(world, rng, world.workers, "ray::Bench", "ray::Forge", "ray::Host")


def kill_node(world: ClusterWorld, rng: random.Random, cut_seconds: float) -> None:
    _kill_any(world, rng, world.workers, "/raylet ")


def kill_host(world: ClusterWorld, rng: random.Random, cut_seconds: float) -> None:
    host = rng.choice(world.workers)
    world.keeper.end_host(host)
    world.keeper.start_host(host)


def kill_head(world: ClusterWorld, rng: random.Random, cut_seconds: float) -> None:
    _kill_any(world, rng, [world.head], "/gcs_server ")


def restart_database(world: ClusterWorld, rng: random.Random, cut_seconds: float) -> None:
    world.database.server.restart("immediate")


def cut_link(world: ClusterWorld, rng: random.Random, cut_seconds: float) -> None:
    """What the other workers do meanwhile goes on."""
    host = rng.choice(world.workers)
    world.network.cut(host)
    try:
        _pass(world, cut_seconds)
    finally:
        world.network.heal(host)


FAILURES: Mapping[str, Break] = {
    "API killed": kill_api,
    "dispatcher killed": kill_dispatcher,
    "bridge killed": kill_bridge,
    "actor killed": kill_actor,
    "node's process killed": kill_node,
    "host ended": kill_host,
    "head killed": kill_head,
    "database restarted": restart_database,
    "link cut": cut_link,
}

ALL_DEVICES = frozenset({"dispatcher killed", "bridge killed", "head killed"})
"""Failures that reach what is under way on every device."""


def _kill_program(world: ClusterWorld, name: str) -> None:
    running = until(lambda: world.keeper.process(name), seconds=60)
    assert running is not None
    end(running.process)


def _kill_any(world: ClusterWorld, rng: random.Random, hosts: list[Host], *words: str) -> None:
    def found() -> list[psutil.Process]:
        return [p for host in hosts if host.is_up for p in world.processes(host, *words)]

    end(rng.choice(until(found, seconds=120)))


def _pass(world: ClusterWorld, seconds: float) -> None:
    """So many seconds of the database's clock."""
    with world.store.engine.connect() as connection:
        connection.exec_driver_sql(f"select pg_sleep({seconds:f})")
