"""Rounds of one failure each: whatever is killed on whichever host, nothing that was measured is lost, and the work
goes on."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

import psutil

from autosched.measure.journal import read_lines
from autosched.testing.waiting import until
from tests.cluster.failures import ALL_DEVICES, FAILURES
from tests.cluster.world import ClusterWorld
from tests.service.accounting import check_accounts, check_never_two_at_once, closed
from tests.service.world import Row

COMMIT_SECONDS = 120.0
STRAY_SECONDS = 60.0
LOOK_SECONDS = 0.2


def broken(
    world: ClusterWorld, names: Sequence[str], rng: random.Random, cut_seconds: float
) -> Iterator[str]:
    """Each of these failures in turn, when it is over and the accounts are right."""
    for i, name in enumerate(names, 1):
        before = closed(world.rows())
        break_once(world, name, rng, cut_seconds)
        check(world, names[:i], before)
        yield name


def goes_on(world: ClusterWorld) -> None:
    """A new trial commits."""
    before = world.n_closed()

    def committed() -> bool:
        world.feed()
        return world.n_closed() > before

    until(committed, seconds=COMMIT_SECONDS, pause=LOOK_SECONDS)


def break_once(world: ClusterWorld, name: str, rng: random.Random, cut_seconds: float) -> None:
    """One round: something breaks at a random moment, the work goes on, the strays are gone."""
    goes_on(world)
    before = world.n_closed()
    n = rng.randrange(1, 12)
    until(
        lambda: world.feed() or world.n_closed() >= before + n,
        seconds=COMMIT_SECONDS,
        pause=LOOK_SECONDS,
    )
    FAILURES[name](world, rng, cut_seconds)
    goes_on(world)
    until(lambda: not strays(world), seconds=STRAY_SECONDS, pause=LOOK_SECONDS)
    world.wait_for_workers()


def strays(world: ClusterWorld) -> list[str]:
    """Processes on hosts that nobody keeps: above them stands no program of ours."""
    kept = {p.running.process.pid for p in world.keeper.programs.values() if p.running}
    running = [p for host in world.hosts if host.is_up for p in host.processes()]
    return [line for process in running if (line := _stray(process, kept))]


def _stray(process: psutil.Process, kept: set[int]) -> str:
    """ "" for one that is kept, or gone."""
    try:
        above = {process.pid, *(p.pid for p in process.parents())}
        return "" if above & kept else " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        return ""


def check(world: ClusterWorld, names: Sequence[str], before: Mapping[str, Row]) -> None:
    reached = sum(world.devices if name in ALL_DEVICES else 1 for name in names)
    check_accounts(world, before, kills=reached)
    check_never_two_at_once(read_lines(world.journal))
