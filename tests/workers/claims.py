"""Claims and waiting jobs, made up for tests of what a dispatcher decides."""

from __future__ import annotations

from autosched.jobs.queue import Claim, Waiting
from autosched.jobs.record import SetupKey, Submitted
from autosched.records.store import Job, JobSpec

HERE = SetupKey("t1-x", "c1-x")
THERE = SetupKey("t1-y", "c1-x")


def claim(
    job_id: str,
    owner: str = "ann",
    *,
    setup: SetupKey = HERE,
    fence: int = 1,
    priority: int = 0,
    is_cancel_asked: bool = False,
    is_inherited: bool = False,
) -> Claim:
    spec = JobSpec("suite:GMM/1@1", "g1-x", setup.target, 2, setup.toolchain, 0, 64)
    submitted = Submitted(
        job=Job(job_id, spec, "running", ()),
        owner=owner,
        seconds=None,
        policy="random",
        priority=priority,
        labels={},
        fence=fence,
        started_at=None,
        queued_until=None,
        is_cancel_asked=is_cancel_asked,
    )
    return Claim(submitted, fence, is_inherited, 0.0)


def waiting(job_id: str, owner: str = "ann", priority: int = 0, setup: SetupKey = HERE) -> Waiting:
    return Waiting(job_id, owner, priority, setup)
