"""Submitted jobs made up for tests, and what a store of a service is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from autosched.jobs.access import TokenStore
from autosched.jobs.queue import Claim, JobLeases, JobQueue, Quota
from autosched.jobs.record import Submission, Submitted
from autosched.jobs.workers import WorkerRegistry
from autosched.records.catalog import Catalog
from autosched.records.store import TaskSpec, TuningStore
from autosched.target.target import Target
from autosched.testing.records import TARGET, TOOLCHAIN, TOOLCHAIN_KEY, task_spec


class ServiceStore(JobQueue, JobLeases, WorkerRegistry, TokenStore, TuningStore, Catalog, Protocol):
    """What the suite runs over."""

    def counters(self) -> Mapping[str, int]: ...

    def queue_depth(self) -> Mapping[str, int]: ...


def submission(
    owner: str = "ann",
    *,
    tasks: Sequence[TaskSpec] = (),
    target: Target = TARGET,
    trials: int = 64,
    **fields: Any,
) -> Submission:
    """A request for one task, unless told otherwise; `fields` are any others of a Submission."""
    return Submission(
        owner=owner,
        source="suite:GMM/1@1",
        source_key="g1-gmm",
        tasks=tuple(tasks) or (task_spec(),),
        target_key=target.key,
        target=asdict(target),
        toolchain_key=TOOLCHAIN_KEY,
        toolchain=TOOLCHAIN,
        threads=target.threads,
        trials=trials,
        **fields,
    )


def submit(store: JobQueue, owner: str = "ann", **fields: Any) -> Submitted:
    """A job in the queue."""
    return store.submit(submission(owner, **fields), Quota())[0]


def claim(
    store: JobLeases, job_id: str, holder: str = "d1", *, lease_seconds: float = 60.0
) -> Claim:
    """A claim that must succeed; a lease of 0 s is over at once."""
    found = store.claim(holder, job_id, lease_seconds=lease_seconds)
    assert found is not None
    return found


def kinds(store: JobQueue, job_id: str) -> list[str]:
    """A job's events in short: "job queued", "end failed"."""
    events = store.events(job_id, after=0)
    assert [e.number for e in events] == list(range(1, len(events) + 1))
    return [f"{e.type} {e.data['state']}" if "state" in e.data else e.type for e in events]
