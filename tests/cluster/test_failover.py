"""Whatever is killed on whichever host, nothing that was measured is lost, and the work goes on.

pytest -m campaign tests/cluster/test_failover.py -k every      # each kind once, 4 minutes
pytest -s -m campaign tests/cluster/test_failover.py -k fifty   # the long form
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import psutil
import pytest

from autosched.measure.journal import read_lines
from autosched.testing.waiting import until
from tests.cluster.failures import ALL_DEVICES, FAILURES
from tests.cluster.hosts import Network
from tests.cluster.world import ClusterWorld, cluster_world
from tests.service.accounting import check_accounts, check_never_two_at_once, closed
from tests.service.world import Row

COMMIT_SECONDS = 120.0
STRAY_SECONDS = 60.0


def goes_on(world: ClusterWorld) -> None:
    """A new trial commits."""
    before = world.n_closed()

    def committed() -> bool:
        world.feed()
        return world.n_closed() > before

    until(committed, seconds=COMMIT_SECONDS)


def break_once(world: ClusterWorld, name: str, rng: random.Random, cut_seconds: float) -> None:
    """One round: something breaks at a random moment, the work goes on, the strays are gone."""
    goes_on(world)
    before = world.n_closed()
    n = rng.randrange(1, 12)
    until(lambda: world.feed() or world.n_closed() >= before + n, seconds=COMMIT_SECONDS)
    FAILURES[name](world, rng, cut_seconds)
    goes_on(world)
    until(lambda: not strays(world), seconds=STRAY_SECONDS)
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


def check(world: ClusterWorld, names: list[str], before: Mapping[str, Row]) -> None:
    reached = sum(world.devices if name in ALL_DEVICES else 1 for name in names)
    check_accounts(world, before, kills=reached)
    check_never_two_at_once(read_lines(world.journal))


@pytest.mark.campaign
def test_every_failure_once(network: Network) -> None:
    rng = random.Random(1)
    with cluster_world(network) as world:
        names: list[str] = []
        for name in FAILURES:
            before = closed(world.rows())
            names.append(name)
            break_once(world, name, rng, cut_seconds=15.0)
            check(world, names, before)


@pytest.mark.campaign
def test_fifty_failures(network: Network) -> None:
    rng = random.Random(2)
    wanted = [*FAILURES, *(["link cut"] * 2)]
    wanted += rng.choices([n for n in FAILURES if n != "link cut"], k=50 - len(wanted))
    rng.shuffle(wanted)
    with cluster_world(network) as world:
        for i, name in enumerate(wanted, 1):
            before = closed(world.rows())
            break_once(world, name, rng, cut_seconds=60.0)
            check(world, wanted[:i], before)
            runs, rows = len(world.runs()), world.n_closed()
            print(f"{i:2d} {name}: {runs} runs, {rows} rows", flush=True)
