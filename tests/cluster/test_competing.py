"""A worker's host on which somebody tunes: both measure, in turns.

pytest -s -m campaign tests/cluster/test_competing.py   # 3 minutes
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from autosched.measure.journal import read_lines
from autosched.testing.waiting import until
from tests.cluster.hosts import Network
from tests.cluster.real_jobs import submit_to
from tests.cluster.world import ClusterSettings, cluster_world
from tests.service.accounting import check_never_two_at_once

TRIALS = 96
MANY = 10_000
"""Trials of a job that does not end before the local one."""

LEAST_SHARE = 0.2
"""Of the runs while both measure. Who searches or waits for its database leaves the device to the other."""

Entries = Sequence[dict[str, Any]]


def both_at_work(first: Entries, second: Entries) -> tuple[Entries, Entries]:
    """The runs of each between the later beginning and the earlier end."""
    begun = max(min(e["begun"] for e in runs) for runs in (first, second))
    ended = min(max(e["ended"] for e in runs) for runs in (first, second))
    kept = [
        [e for e in runs if begun <= e["begun"] and e["ended"] <= ended] for runs in (first, second)
    ]
    return kept[0], kept[1]


def longest_pause(entries: Entries) -> float:
    """Seconds from the end of a run to the beginning of the next."""
    runs = sorted(entries, key=lambda e: float(e["begun"]))
    return max((b["begun"] - a["ended"] for a, b in pairwise(runs)), default=0.0)


@pytest.mark.campaign
def test_a_local_tune_and_the_cluster_take_turns(network: Network) -> None:
    with cluster_world(network, ClusterSettings(workers=1, seconds=None)) as world:
        host, (worker,) = world.workers[0], world.store.workers(alive_only=True)
        journal = network.shared / "own-journal"
        submit_to(world.store, worker, "suite:GMM/2@1", trials=MANY, policy="random")
        until(lambda: world.n_closed() > 0, seconds=120)
        command = ("python", "-m", "autosched", "tune", "suite:GMM/1@1", "--trials", str(TRIALS))
        own = ("--db", "/tmp/own.db", "--journal", str(journal))
        tune = host.popen(*command, *own, log="tune")
        assert tune.wait(600) == 0, tune.text()
        theirs, ours = read_lines(world.journal), read_lines(journal)
    check_never_two_at_once([*theirs, *ours])
    assert {e["device"] for e in [*theirs, *ours]} == {f"{host.name}/cpu"}
    counts = {}
    for name, runs in zip(("cluster", "tune"), both_at_work(theirs, ours), strict=True):
        counts[name] = len(runs)
        print(f"{name}: {len(runs)} runs, longest pause {longest_pause(runs):.1f} s", flush=True)
    assert min(counts.values()) >= LEAST_SHARE * sum(counts.values())
