"""Hostile graphs are accepted or explained: never a fault, never a process lost, memory as it was.

The long form, 10,000 of them: `pytest -m campaign tests/api/test_hostile_graphs.py`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import httpx
import psutil
import pytest

from autosched.db.store import open_store
from tests.api.conftest import worker_of
from tests.api.hostile_graphs import Hostile, as_request, hostile_graphs
from tests.api.process import Process, running

LIMITS = (
    *("--import-seconds", "10", "--import-memory-bytes", str(1 << 30)),
    *("--owner-jobs", "1000000", "--import-waiting", "64"),
)
AT_ONCE = 3


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Process]:
    db = str(tmp_path / "service.db")
    with open_store(db) as store:
        store.register(worker_of())
    with running(db, tmp_path, *LIMITS) as process:
        yield process


def send(process: Process, graphs: Iterator[Hostile]) -> Counter[tuple[str, int]]:
    """How many of each kind came to which status; only 202 and 422 are answers to a graph."""
    seen: Counter[tuple[str, int]] = Counter()
    with httpx.Client(base_url=process.url, timeout=120.0) as client:

        def ask(hostile: Hostile) -> None:
            answer = client.post("/v1/jobs", **as_request(hostile))
            assert answer.status_code in {202, 422}, (hostile[0], answer.text)
            found = answer.json()
            if answer.status_code == 422:
                assert found["detail"], hostile[0]
                assert "/site-packages/" not in answer.text
            seen[hostile[0], answer.status_code] += 1

        with ThreadPoolExecutor(AT_ONCE) as pool:
            while part := list(islice(graphs, 200)):
                list(pool.map(ask, part))
    return seen


def children(process: Process) -> set[int]:
    """The processes that read models."""
    return {child.pid for child in psutil.Process(process.child.pid).children()}


def test_hostile_graphs_are_refused_or_accepted(service: Process) -> None:
    send(service, hostile_graphs(12, seed=0))
    before = children(service)
    seen = send(service, hostile_graphs(100, seed=1))
    assert sum(seen.values()) == 100
    assert {status for _, status in seen} == {202, 422}
    assert children(service) == before
    assert not [x for x in service.log if x["event"] in {"fault", "import_failed"}]


@pytest.mark.campaign
def test_campaign(service: Process) -> None:
    send(service, hostile_graphs(1_000, seed=2))
    before, resident = children(service), service.resident_bytes
    seen = send(service, hostile_graphs(10_000, seed=3))
    print(*sorted(seen.items()), sep="\n", file=sys.stderr)
    growth = service.resident_bytes / resident - 1
    print(f"resident {resident >> 20} MiB, then {growth:+.1%}", file=sys.stderr)
    assert growth <= 0.05
    assert children(service) == before
    assert service.child.poll() is None
    assert not [x for x in service.log if x["event"] in {"fault", "import_failed"}]
