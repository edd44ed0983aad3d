"""What was submitted and how it stands: plain values. Times are UTC; `seconds` are seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from autosched.records.outcome import Outcome
from autosched.records.record import Timing
from autosched.records.store import Job, JobState, TaskSpec

EndReason = Literal[
    "", "trials", "seconds", "exhausted", "no_valid_candidate", "cancelled", "error"
]
"""What ended a job: its budget, its space, nothing valid, a person, or a fault that its `error` tells."""

TERMINAL: frozenset[JobState] = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True)
class Submission:
    """A job to be. `tasks` are what importing gave, `target` and `toolchain` the fields behind their keys. `seconds`
    bounds the time on a device, `queue_seconds` that until the first claim. `idempotency_key` is the client's name for
    this request, `body_digest` the digest of what it asked."""

    owner: str
    source: str
    source_key: str
    tasks: tuple[TaskSpec, ...]
    target_key: str
    target: Mapping[str, Any]
    toolchain_key: str
    toolchain: Mapping[str, Any]
    threads: int
    trials: int
    seed: int = 0
    seconds: float | None = None
    policy: str = "evolutionary"
    priority: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    queue_seconds: float | None = None
    idempotency_key: str | None = None
    body_digest: str = ""
    upload_bytes: int = 0


class SetupKey(NamedTuple):
    """What a job is measured for: a device serves it by just this target and toolchain, or not at all."""

    target: str
    toolchain: str


@dataclass(frozen=True)
class Submitted:
    """A job as its owner sees it, but for what its trials say. `fence` counts its claims; `error` says why it failed."""

    job: Job
    owner: str
    seconds: float | None
    policy: str
    priority: int
    labels: Mapping[str, str]
    fence: int
    started_at: datetime | None
    queued_until: datetime | None
    is_cancel_asked: bool
    error: str = ""

    @property
    def id(self) -> str:
        return self.job.id

    @property
    def state(self) -> JobState:
        return self.job.state

    @property
    def setup(self) -> SetupKey:
        return SetupKey(self.job.spec.target_key, self.job.spec.toolchain_key)

    @property
    def is_terminal(self) -> bool:
        return self.job.state in TERMINAL


@dataclass(frozen=True)
class TaskStanding:
    """What a task has brought. `outcomes` leave the default out. Seconds are those of the task's last side-by-side run,
    `trial` its winner; None before there was one. `operations` of a call and the roofline's `bound_seconds` are None
    until a dispatcher has begun the task."""

    task_id: str
    spec: TaskSpec
    outcomes: Mapping[Outcome, int]
    open_trials: int
    default_seconds: float | None
    best: Timing | None
    trial: str | None
    operations: float | None
    bound_seconds: float | None


@dataclass(frozen=True)
class Failure:
    """Trials of a job that failed alike: `kind` is the first line of their error. `log` is the example's."""

    outcome: Outcome
    kind: str
    count: int
    example_trial: str
    log: str


EventType = Literal["job", "task", "progress", "best", "end"]


@dataclass(frozen=True)
class JobEvent:
    """`number` counts the events of a job from 1 on, without gaps."""

    job_id: str
    number: int
    type: EventType
    data: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True)
class Page:
    """Where a list goes on: at most `limit` items after the one called `after` (None: from the start)."""

    limit: int = 50
    after: str | None = None


@dataclass(frozen=True)
class JobFilter:
    """`owner` None: of every owner."""

    owner: str | None = None
    state: JobState | None = None
    label: tuple[str, str] | None = None
