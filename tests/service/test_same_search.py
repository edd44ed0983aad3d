"""A job searches alike wherever it runs: the same seed and the same measurements give the same proposals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autosched_workers.simulation.lab import SimulatedLab

from autosched.db.store import SqlTuningStore, open_store
from autosched.entry.job_run import JobContext, JobRun
from autosched.entry.machine import Setup
from autosched.entry.submitted import subjects_of
from autosched.testing.waiting import until
from autosched.tuning.turns import Alone
from tests.service.submissions import submit
from tests.service.world import Settings, end, world

TRIALS = 64


def proposals(store: SqlTuningStore, job_id: str) -> list[tuple[int, int, str]]:
    """Number, round and candidate of every trial."""
    submitted = store.submitted(job_id)
    assert submitted is not None
    trials = [t for task_id, _ in submitted.job.tasks for t in store.trials(task_id)]
    return [(t.number, t.round, t.candidate.key) for t in trials]


class Nowhere:
    """The place of one who is not to be stopped."""

    def devices(self) -> Sequence[str]:
        return ("h/d",)

    def checkpoint(self) -> None: ...


def alone(db: Path) -> list[tuple[int, int, str]]:
    """The proposals of a job that has the machine for itself."""
    lab = SimulatedLab(0.0)
    with open_store(str(db)) as store:
        job = submit(store, 5, trials=TRIALS, seed=9, policy="evolutionary").job
        subjects = subjects_of([spec for _, spec in job.tasks])
        offer = lab.offer()
        with lab.open(Setup(offer.target, offer.toolchain), 9, Nowhere()) as machine:
            claim = store.claim("here", job.id, lease_seconds=1000)
            assert claim is not None
            context = JobContext(machine, store.fenced(job.id, claim.fence), Alone())
            JobRun(job, subjects, context, policy="evolutionary").run()
        return proposals(store, job.id)


def test_a_served_job_proposes_what_a_local_one_does(tmp_path: Path, postgres_url: str) -> None:
    with world(postgres_url, tmp_path, Settings(dispatchers=2, seconds=0.02)) as service:
        job = submit(service.store, 5, trials=TRIALS, seed=9, policy="evolutionary")
        until(lambda: len(service.runs()) > TRIALS // 2)
        for name in ("dispatcher0", "dispatcher1"):
            end(service.process(name))  # and it goes on as if nothing had been
        until(lambda: not sum(service.store.queue_depth().values()), seconds=120)
        served = proposals(service.store, job.id)
    assert len(served) == TRIALS + 1
    assert served == alone(tmp_path / "alone.db")
