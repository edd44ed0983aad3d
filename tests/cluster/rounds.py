"""Rounds of one failure each: whatever is killed on whichever host, nothing that was measured is lost, and the work
goes on."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import psutil

from autosched.measure.journal import read_lines
from tests.cluster.failures import ALL_DEVICES, FAILURES
from tests.cluster.world import ClusterWorld
from tests.service.accounting import check_accounts, check_never_two_at_once, closed
from tests.service.rounds import Patience, break_once
from tests.service.world import Row

PATIENCE = Patience(commit_seconds=120.0, stray_seconds=60.0, look_seconds=0.2)


def broken(
    world: ClusterWorld, names: Sequence[str], rng: random.Random, cut_seconds: float
) -> Iterator[str]:
    """Each of these failures in turn, when it is over and the accounts are right."""
    for i, name in enumerate(names, 1):
        before = closed(world.rows())
        failure = partial(FAILURES[name], world, rng, cut_seconds)
        break_once(world, failure, partial(strays, world), rng, PATIENCE)
        world.wait_for_workers()
        check(world, names[:i], before)
        yield name


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
