"""Fifty rounds of failures, as tests/cluster/test_service.py has one of each kind.

pytest -s -m campaign tests/cluster/test_failover.py
"""

from __future__ import annotations

import random

import pytest

from tests.cluster.failures import FAILURES
from tests.cluster.hosts import Network
from tests.cluster.rounds import broken
from tests.cluster.world import cluster_world

ROUNDS = 50


@pytest.mark.campaign
def test_fifty_failures(network: Network) -> None:
    rng = random.Random(2)
    wanted = [*FAILURES, *(["link cut"] * 2)]
    others = [n for n in FAILURES if n != "link cut"]
    wanted += rng.choices(others, k=ROUNDS - len(wanted))
    rng.shuffle(wanted)
    with cluster_world(network) as world:
        for i, name in enumerate(broken(world, wanted, rng, cut_seconds=60.0), 1):
            print(f"{i:2d} {name}: {len(world.runs())} runs, {world.n_closed()} rows", flush=True)
