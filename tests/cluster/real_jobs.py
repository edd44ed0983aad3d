"""Jobs with real kernels, for a worker that is there."""

from __future__ import annotations

from functools import cache
from typing import Any

from autosched.db.store import SqlTuningStore
from autosched.entry.submitted import submitted_tasks
from autosched.entry.work import Work, work_of
from autosched.jobs.queue import Quota
from autosched.jobs.record import Submission, Submitted
from autosched.jobs.workers import Worker
from autosched.testing.waiting import until

QUOTA = Quota(jobs=1_000)


@cache
def _work(source: str) -> Work:
    return work_of(source)


def submit_to(
    store: SqlTuningStore, worker: Worker, source: str, *, trials: int, **more: Any
) -> Submitted:
    """A job in the queue, for a worker's target at its most threads and for its compiler."""
    work = _work(source)
    submission = Submission(
        owner="ann",
        source=work.name,
        source_key=work.key,
        tasks=submitted_tasks(work),
        target_key=worker.target_key,
        target=worker.target,
        toolchain_key=worker.toolchain_key,
        toolchain=worker.toolchain,
        threads=worker.max_threads,
        trials=trials,
        **more,
    )
    return store.submit(submission, QUOTA)[0]


def wait_for_end(store: SqlTuningStore, job: Submitted, *, seconds: float) -> Submitted:
    """The job once it has succeeded."""

    def ended() -> Submitted | None:
        found = store.submitted(job.id)
        return found if found is not None and found.is_terminal else None

    found = until(ended, seconds=seconds, pause=0.2)
    assert found is not None
    assert found.state == "succeeded", f"{found.state}: {found.error}"
    return found
