"""Many jobs through the whole service, one after the other: exact rows, flat memory, little time beside the runs."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from autosched.client import Client
from autosched.graph.importers.json import import_json
from autosched.testing.waiting import until
from tests.api.process import free_port
from tests.service.submissions import matmul_document
from tests.service.world import Settings, World, world

UNDER_WAY = 6
"""Jobs in the queue or in progress at a time: the dispatcher always has the next one."""


def run_jobs(service: World, numbers: range, trials: int) -> None:
    """Submits jobs so that there is always a next one, and waits for all to end."""
    with Client(f"http://127.0.0.1:{service.settings.port}") as client:
        for number in numbers:
            until(lambda: sum(service.store.queue_depth().values()) < UNDER_WAY, seconds=600)
            client.submit(import_json(matmul_document(number)), trials=trials, policy="random")
    until(lambda: not sum(service.store.queue_depth().values()), seconds=600)


def resident_bytes(service: World) -> dict[str, int]:
    """Of the API, its children included, and of the dispatcher without the processes of jobs."""
    api = service.process("API")
    members = [api, *api.children(recursive=True)]
    dispatcher = service.process("dispatcher0")
    return {
        "API": sum(p.memory_info().rss for p in members),
        "dispatcher": dispatcher.memory_info().rss,
    }


def check_rows(service: World, jobs: int, trials: int) -> None:
    """Every trial of every budget, and one default a job, once."""
    rows = service.rows()
    assert len(rows) == jobs * (trials + 1)
    assert all(row.outcome is not None for row in rows.values())
    runs = [trial for trial, _ in service.runs()]
    assert len(set(runs)) == len(runs)
    assert set(runs) == {t for t, row in rows.items() if not row.is_reused}


def test_a_few_jobs_leave_exact_rows(postgres_url: str, tmp_path: Path) -> None:
    settings = Settings(dispatchers=1, seconds=0.005, port=free_port())
    with world(postgres_url, tmp_path, settings) as service:
        run_jobs(service, range(4), 30)
        check_rows(service, 4, 30)


@pytest.mark.campaign
def test_two_hundred_jobs(postgres_url: str, tmp_path: Path) -> None:
    seconds, trials, jobs = 0.005, 500, 200
    settings = Settings(dispatchers=1, seconds=seconds, lease_seconds=15.0, port=free_port())
    with world(postgres_url, tmp_path, settings) as service:
        run_jobs(service, range(20), trials)
        early, begun, before = resident_bytes(service), time.monotonic(), len(service.runs())
        run_jobs(service, range(20, jobs), trials)
        wall, runs = time.monotonic() - begun, len(service.runs()) - before
        late = resident_bytes(service)
        check_rows(service, jobs, trials)
    beside = (wall - seconds * runs) / runs
    growth = {name: late[name] / early[name] - 1 for name in early}
    print(f"{1e3 * beside:.2f} ms a trial beside the run; growth {growth}", file=sys.stderr)
    assert max(growth.values()) <= 0.05
    assert beside < 0.005
