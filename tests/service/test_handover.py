"""A dispatcher that is asked to end hands its jobs over at once, and not one run of theirs comes to nothing."""

from __future__ import annotations

import signal
from pathlib import Path

from sqlalchemy import text

from autosched.jobs.record import Submitted
from autosched.testing.waiting import until
from tests.service.submissions import submit
from tests.service.world import Settings, World, end, world

HANDOVER_SECONDS = 5.0


def holders(service: World) -> dict[str, str]:
    """Holder of each job that is held."""
    query = "select name, holder from leases where kind = 'job' and not is_released"
    with service.store.engine.connect() as connection:
        return {row.name: row.holder for row in connection.execute(text(query))}


def all_succeeded(service: World, jobs: list[Submitted]) -> bool:
    found = [service.store.submitted(job.id) for job in jobs]
    return all(job is not None and job.state == "succeeded" for job in found)


def test_sigterm_hands_over_without_losing_an_attempt(postgres_url: str, tmp_path: Path) -> None:
    with world(postgres_url, tmp_path, Settings(seconds=0.1, lease_seconds=60.0)) as service:
        jobs = [submit(service.store, next(service.sizes), trials=60) for _ in range(4)]
        until(lambda: len(service.runs()) > 20 and len(set(holders(service).values())) == 2)
        leaving = service.process("dispatcher0")
        theirs = {j for j, h in holders(service).items() if f"-{leaving.pid}-" in h}
        assert theirs, "a dispatcher with nothing to do gets jobs of one with many"
        end(leaving, signal.SIGTERM)
        until(
            lambda: (
                not any(f"-{leaving.pid}-" in h for h in holders(service).values())
                and theirs <= holders(service).keys()
            ),
            seconds=HANDOVER_SECONDS,
        )
        until(lambda: all_succeeded(service, jobs), seconds=120)
        runs, rows = service.runs(), service.rows()
        ran = [t for t, row in rows.items() if not row.is_reused]
        assert sorted(t for t, _ in runs) == sorted(ran), "every run is a row"
        assert {attempt for _, attempt in runs} == {1}


def test_a_cancelled_job_stops_soon_and_keeps_what_it_has(
    postgres_url: str, tmp_path: Path
) -> None:
    with world(postgres_url, tmp_path, Settings(dispatchers=1, seconds=0.1)) as service:
        job = submit(service.store, 1, trials=400)
        until(lambda: len(service.runs()) > 3)
        service.store.cancel(job.id)
        until(lambda: _state(service, job) == ("cancelled", "cancelled"), seconds=10)
        runs, rows = service.runs(), service.rows()
        assert {t for t, _ in runs} == {t for t, r in rows.items() if r.outcome == "ok"}
        resumed = service.store.resume(job.id, trials=48, seconds=None)
        assert resumed.state == "queued"
        until(lambda: _state(service, job) == ("succeeded", "trials"), seconds=60)
        assert len(service.rows()) == 48 + 1


def test_a_budget_in_seconds_ends_a_job(postgres_url: str, tmp_path: Path) -> None:
    with world(postgres_url, tmp_path, Settings(dispatchers=1, seconds=0.1)) as service:
        job = submit(service.store, 1, trials=4000, seconds=2.0)
        until(lambda: _state(service, job) == ("succeeded", "seconds"), seconds=60)
        assert 2.0 / 0.1 - 16 <= len(service.runs()) <= 2.0 / 0.1 + 32


def _state(service: World, job: Submitted) -> tuple[str, str]:
    found = service.store.submitted(job.id)
    assert found is not None
    return found.state, found.job.end_reason
