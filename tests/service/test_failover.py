"""Whatever is killed, nothing that was measured is lost, and the work goes on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from autosched.measure.janitor import strays
from autosched.measure.journal import read_lines
from autosched.testing.postgres import Cluster
from tests.api.process import free_port
from tests.service.accounting import check_accounts, check_never_two_at_once, closed
from tests.service.failures import FAILURES
from tests.service.rounds import break_once
from tests.service.world import Settings, World, world


def break_in(service: World, postgres: Cluster, name: str, rng: random.Random) -> None:
    break_once(service, lambda: FAILURES[name](service, postgres, rng), lambda: [*strays()], rng)


def test_every_failure_once(postgres: Cluster, postgres_url: str, tmp_path: Path) -> None:
    rng = random.Random(1)
    with world(postgres_url, tmp_path, Settings(seconds=0.05, port=free_port())) as service:
        for kills, name in enumerate(FAILURES, 1):
            before = closed(service.rows())
            break_in(service, postgres, name, rng)
            check_accounts(service, before, kills=kills)
            check_never_two_at_once(read_lines(service.journal))


@pytest.mark.campaign
def test_fifty_failures(postgres: Cluster, postgres_url: str, tmp_path: Path) -> None:
    rng = random.Random(2)
    settings = Settings(seconds=0.2, lease_seconds=15.0, port=free_port())
    with world(postgres_url, tmp_path, settings) as service:
        for kills in range(1, 51):
            name = rng.choice(sorted(FAILURES))
            before = closed(service.rows())
            break_in(service, postgres, name, rng)
            check_accounts(service, before, kills=kills)
            check_never_two_at_once(read_lines(service.journal))
            runs, rows = len(service.runs()), service.n_closed()
            print(f"{kills:2d} {name}: {runs} runs, {rows} rows", flush=True)
