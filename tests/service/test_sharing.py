"""Many jobs of many owners on few devices: all end, one holder at a time, and owners have equal shares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from autosched.measure.journal import read_lines
from autosched.records.record import job_id_of, split_trial_id
from autosched.testing.waiting import until
from tests.service.submissions import submit
from tests.service.world import Settings, World, world


def share(
    service: World, *, owners: int, jobs: int, trials: int, seconds: float
) -> Mapping[str, str]:
    """Submits so many jobs of each owner at once and waits for all to end; the owner of each job."""
    owner_of = {
        submit(service.store, next(service.sizes), owner=f"owner{i % owners}", trials=trials).id: (
            f"owner{i % owners}"
        )
        for i in range(owners * jobs)
    }
    until(lambda: not sum(service.store.queue_depth().values()), seconds=seconds, pause=0.2)
    states = {job: service.store.submitted(job) for job in owner_of}
    assert {s.state for s in states.values() if s is not None} == {"succeeded"}
    return owner_of


def job_of(entry: Mapping[str, Any]) -> str:
    parts = split_trial_id(entry["trial"])
    assert parts is not None
    return job_id_of(parts[0])


def check_one_holder(entries: Sequence[Mapping[str, Any]], seconds: float) -> None:
    """No job ran on two devices at once, and no device ran two jobs at once."""
    for key in (job_of, lambda e: str(e["device"])):
        groups = defaultdict(list)
        for entry in entries:
            groups[key(entry)].append(entry["at"])
        for name, ends in groups.items():
            ordered = sorted(ends)
            gaps = [b - a for a, b in pairwise(ordered)]
            assert all(gap > 0.9 * seconds for gap in gaps), f"{name}: {min(gaps)}"


def shares(entries: Sequence[Mapping[str, Any]], owner_of: Mapping[str, str]) -> dict[str, int]:
    """Runs of each owner while all owners had work."""
    last: dict[str, float] = {}
    for entry in entries:
        last[owner_of[job_of(entry)]] = entry["at"]
    until_when = min(last.values())
    found: dict[str, int] = defaultdict(int)
    for entry in entries:
        found[owner_of[job_of(entry)]] += entry["at"] <= until_when
    return dict(found)


def check_shares(found: Mapping[str, int], *, within: float) -> None:
    mean = sum(found.values()) / len(found)
    assert all(abs(n - mean) <= within * mean for n in found.values()), found


def run(url: str, folder: Path, settings: Settings, **wanted: Any) -> dict[str, int]:
    with world(url, folder, settings) as service:
        owner_of = share(service, **wanted)
        entries = read_lines(service.journal)
    check_one_holder(entries, settings.seconds)
    return shares(entries, owner_of)


def test_owners_share_two_dispatchers(postgres_url: str, tmp_path: Path) -> None:
    """However short the jobs are: nobody is ahead by more than a quantum on each device."""
    settings = Settings(seconds=0.1, quantum_seconds=2.0, lease_seconds=15.0)
    found = run(postgres_url, tmp_path, settings, owners=4, jobs=2, trials=32, seconds=120.0)
    quanta = settings.quantum_seconds * settings.dispatchers / settings.seconds
    assert max(found.values()) - min(found.values()) <= quanta, found


@pytest.mark.campaign
def test_eight_owners_share_two_dispatchers(postgres_url: str, tmp_path: Path) -> None:
    settings = Settings(seconds=0.05, lease_seconds=15.0)
    found = run(postgres_url, tmp_path, settings, owners=8, jobs=4, trials=128, seconds=1200.0)
    print(found)
    check_shares(found, within=0.20)
