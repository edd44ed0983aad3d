"""The queue of jobs, from both of its ends.

Guarantees every implementation must give, and the contract suite checks:

* `submit` under an idempotency key that its owner used in the last seven days answers the job of then, if the body is
  the same, and raises `KeyReused` if it is not.
* A job has one holder at a time, by the database's clock. A claim raises the fence; a call with an older one raises
  `FenceLost` and changes nothing.
* A state changes under the job's row lock, together with its event. An ended job stays as it ended until `resume`.
* A call that returned is durable. Any call may be repeated after an error.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from autosched.errors import AutoschedError
from autosched.jobs.record import (
    EndReason,
    EventType,
    Failure,
    JobEvent,
    JobFilter,
    Page,
    SetupKey,
    Submission,
    Submitted,
    TaskStanding,
)
from autosched.records.record import Trial
from autosched.records.store import JobState, TuningStore

IDEMPOTENCY_DAYS = 7


class FenceLost(AutoschedError):
    """Another holder has claimed the job since; whoever gets this forgets what it knows of it."""


class KeyReused(AutoschedError):
    """An idempotency key stands for another request."""


class WrongState(AutoschedError):
    """The job has ended, or has not, so that it cannot be cancelled or resumed; the message names its state."""


class QuotaExceeded(AutoschedError):
    """The owner has as much under way as one may; the message names the limit."""


@dataclass(frozen=True)
class Quota:
    """What one owner may have at a time: jobs not ended, and bytes uploaded for them."""

    jobs: int = 200
    upload_bytes: int = 4 << 30


class JobQueue(Protocol):
    """What the API needs. See the module for the guarantees; StoreError: the database cannot answer now."""

    def submit(self, submission: Submission, quota: Quota) -> tuple[Submitted, bool]:
        """The job, and whether it is new. KeyReused, QuotaExceeded."""
        ...

    def submitted(self, job_id: str) -> Submitted | None:
        """A job that was submitted; those of a local command are not here."""
        ...

    def list_submitted(self, wanted: JobFilter, page: Page) -> tuple[Submitted, ...]:
        """Newest first; the tasks with them, the histories not. `page.after` is a job id."""
        ...

    def standings(self, job_ids: Sequence[str]) -> Mapping[str, tuple[TaskStanding, ...]]:
        """The tasks of each job in order."""
        ...

    def failures(self, job_id: str, *, limit: int = 20) -> tuple[Failure, ...]:
        """Most frequent first."""
        ...

    def list_trials(self, job_id: str, page: Page) -> tuple[Trial, ...]:
        """By task and number. `page.after` is a trial id."""
        ...

    def cancel(self, job_id: str) -> Submitted:
        """Ends a job that nobody holds, tells the holder of one that is held; again on a cancelled job changes nothing.
        WrongState: it has ended otherwise."""
        ...

    def resume(self, job_id: str, *, trials: int | None, seconds: float | None) -> Submitted:
        """Back into the queue, with new totals where given. WrongState: neither failed nor cancelled, or trials of it are
        forgotten. InvalidInput: a total below the trials that it has spent."""
        ...

    def events(self, job_id: str, *, after: int, limit: int = 500) -> tuple[JobEvent, ...]:
        """In order. Numbers before the first one kept are gone."""
        ...


@dataclass(frozen=True)
class Claim:
    """A job that is ours until its lease ends. `is_inherited`: its last holder ended without handing it over, so that
    what it had open counts as another attempt. `spent_seconds`: on devices, under earlier claims."""

    submitted: Submitted
    fence: int
    is_inherited: bool
    spent_seconds: float


@dataclass(frozen=True)
class Renewal:
    """What a holder still has after a heartbeat, and which of its jobs are to be cancelled."""

    jobs: frozenset[str]
    devices: frozenset[str]
    cancelled: frozenset[str]


@dataclass(frozen=True)
class Waiting:
    """A job that could be claimed."""

    job_id: str
    owner: str
    priority: int
    setup: SetupKey


@dataclass(frozen=True)
class Survey:
    """The queue as a dispatcher sees it, at one moment: who waits, what each owner has used, how many jobs of each
    owner anybody holds, and how many other dispatchers have a device for these setups and no job."""

    waiting: tuple[Waiting, ...]
    use: Mapping[str, float]
    holding: Mapping[str, int]
    hungry: int


@dataclass(frozen=True)
class Turn:
    """One use of a device by a job: what fair shares are counted in."""

    device: str
    job_id: str
    owner: str
    seconds: float


class JobLeases(Protocol):
    """What a dispatcher needs. `holder` names it, uniquely for ever; device names are "HOST/NAME"."""

    def waiting(self, setups: Collection[SetupKey], *, limit: int = 100) -> tuple[Waiting, ...]:
        """Jobs for these setups that nobody holds: highest priority first, then oldest; each owner's first ones, so
        that one with thousands does not hide the others."""
        ...

    def claim(self, holder: str, job_id: str, *, lease_seconds: float) -> Claim | None:
        """None if somebody else has it, or it has ended. Its state is `running` from now on."""
        ...

    def renew(
        self,
        holder: str,
        fences: Mapping[str, int],
        devices: Sequence[str],
        *,
        lease_seconds: float,
    ) -> Renewal:
        """The heartbeat of a holder: leases whose fence or holder is another's are not in the answer."""
        ...

    def release(self, holder: str, job_id: str, fence: int, *, is_clean: bool = True) -> None:
        """Hands a job over: it can be claimed at once. Where that is clean, nothing of it counts as an attempt. Without
        effect where it is ours no more."""
        ...

    def end_claimed(
        self, job_id: str, fence: int, state: JobState, reason: EndReason, error: str = ""
    ) -> None:
        """Ends a job; the lease with it. FenceLost."""
        ...

    def lease_device(self, holder: str, device: str, *, lease_seconds: float) -> bool:
        """Whether it is ours now."""
        ...

    def release_devices(self, holder: str) -> None: ...

    def add_turn(self, turn: Turn) -> None: ...

    def owner_seconds(self, *, window_seconds: float) -> Mapping[str, float]:
        """Device seconds of each owner in the last `window_seconds`."""
        ...

    def survey(self, holder: str, setups: Collection[SetupKey], *, window_seconds: float) -> Survey:
        """All that a dispatcher chooses by; use is counted over the last `window_seconds`."""
        ...

    def end_overdue(self) -> int:
        """Fails the jobs that waited longer than their queue limit; how many."""
        ...

    def append_event(self, job_id: str, type: EventType, data: Mapping[str, Any]) -> None: ...

    def count(self, increments: Mapping[str, int]) -> None:
        """Adds to the service's counters, by name ("leases_lost")."""
        ...

    def fenced(self, job_id: str, fence: int) -> FencedStore:
        """A store whose decisions about the job need this fence."""
        ...


class FencedStore(TuningStore, Protocol):
    """A TuningStore for the holder of a job: `propose`, `resend`, `next_attempt` and `end_job` raise
    FenceLost once another holds it."""

    def begin(
        self, history: Sequence[str], bounds: Mapping[str, tuple[float, float | None]]
    ) -> None:
        """Notes the history that the search starts from, unless one stands, and of each task id the operations of one
        call and the roofline's seconds."""
        ...
