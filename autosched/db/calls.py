"""The calls of a service on its store: each runs one function of this package in one transaction.

What they guarantee stands in `autosched.jobs`. They are parts of `SqlTuningStore`, cut as the protocols are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Engine

from autosched.db import (
    events,
    leases,
    moves,
    standings,
    submitted,
    submitting,
    survey,
    tokens,
    turns,
    workers,
)
from autosched.db.engine import in_read, in_write
from autosched.db.service_schema import DEVICE
from autosched.jobs.access import Token
from autosched.jobs.queue import Claim, Quota, Renewal, Survey, Turn, Waiting
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
from autosched.jobs.workers import Worker, WorkerState
from autosched.records.record import Trial
from autosched.records.store import JobState


class QueueCalls:
    """JobQueue. KeyError: there is no such submitted job."""

    engine: Engine

    def submit(self, submission: Submission, quota: Quota) -> tuple[Submitted, bool]:
        return in_write(self.engine, lambda c: submitting.submit(c, submission, quota))

    def submitted(self, job_id: str) -> Submitted | None:
        return in_read(self.engine, lambda c: submitted.load_submitted(c, job_id))

    def list_submitted(self, wanted: JobFilter, page: Page) -> tuple[Submitted, ...]:
        return in_read(self.engine, lambda c: submitted.list_submitted(c, wanted, page))

    def standings(self, job_ids: Sequence[str]) -> Mapping[str, tuple[TaskStanding, ...]]:
        return in_read(self.engine, lambda c: standings.load_standings(c, job_ids), one_state=True)

    def failures(self, job_id: str, *, limit: int = 20) -> tuple[Failure, ...]:
        return in_read(self.engine, lambda c: standings.load_failures(c, job_id, limit))

    def list_trials(self, job_id: str, page: Page) -> tuple[Trial, ...]:
        return in_read(self.engine, lambda c: standings.list_trials(c, job_id, page))

    def cancel(self, job_id: str) -> Submitted:
        return in_write(self.engine, lambda c: moves.cancel(c, job_id))

    def resume(self, job_id: str, *, trials: int | None, seconds: float | None) -> Submitted:
        return in_write(self.engine, lambda c: moves.resume(c, job_id, trials, seconds))

    def events(self, job_id: str, *, after: int, limit: int = 500) -> tuple[JobEvent, ...]:
        return in_read(self.engine, lambda c: events.load_events(c, job_id, after, limit))

    def queue_depth(self) -> Mapping[str, int]:
        """Submitted jobs that have not ended, by state."""
        return in_read(self.engine, submitted.queue_depth)

    def ended_jobs(self) -> Mapping[str, int]:
        """Submitted jobs that have ended and are kept, by state."""
        return in_read(self.engine, submitted.ended_jobs)

    def counters(self) -> Mapping[str, int]:
        """What `count` has added up."""
        return in_read(self.engine, turns.load_counters)


class LeaseCalls:
    """JobLeases, all but `fenced`."""

    engine: Engine

    def waiting(self, setups: Collection[SetupKey], *, limit: int = 100) -> tuple[Waiting, ...]:
        return in_read(self.engine, lambda c: moves.waiting(c, setups, limit))

    def claim(self, holder: str, job_id: str, *, lease_seconds: float) -> Claim | None:
        return in_write(self.engine, lambda c: moves.claim(c, holder, job_id, lease_seconds))

    def renew(
        self,
        holder: str,
        fences: Mapping[str, int],
        devices: Sequence[str],
        *,
        lease_seconds: float,
    ) -> Renewal:
        return in_write(
            self.engine, lambda c: leases.renew(c, holder, fences, devices, lease_seconds)
        )

    def release(self, holder: str, job_id: str, fence: int, *, is_clean: bool = True) -> None:
        in_write(self.engine, lambda c: leases.release_job(c, holder, job_id, fence, is_clean))

    def end_claimed(
        self, job_id: str, fence: int, state: JobState, reason: EndReason, error: str = ""
    ) -> None:
        ending = moves.Ending(state, reason, error)
        in_write(self.engine, lambda c: moves.end_claimed(c, job_id, fence, ending))

    def lease_device(self, holder: str, device: str, *, lease_seconds: float) -> bool:
        taking = leases.Taking(DEVICE, device, holder, lease_seconds)
        return in_write(self.engine, lambda c: leases.take(c, taking))

    def release_devices(self, holder: str) -> None:
        in_write(self.engine, lambda c: leases.release_devices(c, holder))

    def add_turn(self, turn: Turn) -> None:
        in_write(self.engine, lambda c: turns.add_turn(c, turn))

    def owner_seconds(self, *, window_seconds: float) -> Mapping[str, float]:
        return in_read(self.engine, lambda c: turns.owner_seconds(c, window_seconds))

    def survey(self, holder: str, setups: Collection[SetupKey], *, window_seconds: float) -> Survey:
        return in_read(self.engine, lambda c: survey.survey(c, holder, setups, window_seconds))

    def end_overdue(self) -> int:
        return in_write(self.engine, moves.end_overdue)

    def append_event(self, job_id: str, type: EventType, data: Mapping[str, Any]) -> None:
        in_write(self.engine, lambda c: events.append_event(c, job_id, type, data))

    def count(self, increments: Mapping[str, int]) -> None:
        in_write(self.engine, lambda c: turns.count(c, increments))


class RegistryCalls:
    """WorkerRegistry and TokenStore."""

    engine: Engine

    def register(self, worker: Worker) -> None:
        in_write(self.engine, lambda c: workers.register(c, worker))

    def seen(self, worker_id: str, state: WorkerState = "active") -> None:
        in_write(self.engine, lambda c: workers.mark_seen(c, worker_id, state))

    def workers(self, *, alive_only: bool = False) -> Sequence[Worker]:
        return in_read(self.engine, lambda c: workers.load_workers(c, alive_only))

    def add_token(self, token: Token) -> None:
        in_write(self.engine, lambda c: tokens.add_token(c, token))

    def token(self, token_id: str) -> Token | None:
        return in_read(self.engine, lambda c: tokens.load_token(c, token_id))

    def tokens(self) -> tuple[Token, ...]:
        return in_read(self.engine, tokens.load_tokens)

    def revoke(self, token_id: str) -> bool:
        return in_write(self.engine, lambda c: tokens.revoke(c, token_id))
