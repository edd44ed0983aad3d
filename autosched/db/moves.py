"""The states of a submitted job in SQL: claimed, ended, cancelled, resumed, each under the job's row lock with its
event.

Whoever locks a job locks it first, then its lease, tasks and trials: nobody waits in a circle.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, func, select, tuple_, update

from autosched.db.clock import instant
from autosched.db.events import append_event, append_state
from autosched.db.leases import Taking, forget_job_lease, job_is_held, standing_lease, take
from autosched.db.rows import Columns, ResultRow
from autosched.db.schema import JobRow
from autosched.db.service_schema import JOB
from autosched.db.standings import has_forgotten, spent_trials
from autosched.db.submitted import load_submitted
from autosched.db.targets import load_target
from autosched.db.workers import load_workers
from autosched.errors import InvalidInput
from autosched.jobs.queue import Claim, FenceLost, Waiting, WrongState
from autosched.jobs.record import EndReason, SetupKey, Submitted
from autosched.records.rules import ERROR_CHARACTERS, storable_text
from autosched.records.store import JobState


@dataclass(frozen=True)
class Ending:
    """How a job ends; `error` is for its owner, with the job and in its last event."""

    state: JobState
    reason: EndReason
    error: str = ""


def waiting(
    connection: Connection, setups: Collection[SetupKey], limit: int
) -> tuple[Waiting, ...]:
    """Where there are more than `limit`, each owner's first come before anybody's second."""
    turn = func.row_number().over(
        partition_by=JobRow.owner, order_by=(JobRow.priority.desc(), JobRow.id)
    )
    free = (
        select(*_WAITING, turn.label("turn"))
        .where(JobRow.owner.is_not(None), JobRow.ended_at.is_(None))
        .where(_is_for(setups), ~job_is_held())
        .subquery()
    )
    first = select(free).order_by(free.c.turn, free.c.priority.desc(), free.c.id).limit(limit)
    rows = sorted(connection.execute(first), key=lambda row: (-row.priority, row.id))
    return tuple(
        Waiting(row.id, row.owner, row.priority, SetupKey(row.target_key, row.toolchain_key))
        for row in rows
    )


def _is_for(setups: Collection[SetupKey]) -> ColumnElement[bool]:
    """The targets once more by themselves, for the index."""
    return and_(
        JobRow.target_key.in_({s.target for s in setups}),
        tuple_(JobRow.target_key, JobRow.toolchain_key).in_(sorted(setups)),
    )


_WAITING = (JobRow.id, JobRow.owner, JobRow.priority, JobRow.target_key, JobRow.toolchain_key)


def claim(connection: Connection, holder: str, job_id: str, seconds: float) -> Claim | None:
    """A holder who asks again has the answer of before."""
    job = _lock(connection, job_id)
    if job is None or job.owner is None or job.ended_at is not None:
        return None
    lease = standing_lease(connection, job_id)
    if lease is not None and lease.is_live and lease.holder != holder:
        return None
    is_repeated = lease is not None and bool(lease.is_live)
    if lease is None:
        is_inherited = False
    else:
        is_inherited = bool(lease.is_inherited if is_repeated else not lease.is_released)
    fence = job.fence if is_repeated else job.fence + 1
    take(connection, Taking(JOB, job_id, holder, seconds, fence, is_inherited))
    if not is_repeated:
        started = job.started_at or datetime.now(UTC)
        _change(connection, job_id, {"fence": fence, "state": "running", "started_at": started})
    if job.state != "running":
        append_state(connection, job_id, "running")
    return Claim(_reload(connection, job_id), fence, is_inherited, job.spent_seconds)


def check_fence(connection: Connection, job_id: str, fence: int) -> None:
    """Lock a job for its holder. FenceLost: it has another, or has none any more."""
    job = _lock(connection, job_id)
    if job is None or (job.fence, job.state) != (fence, "running"):
        stands = "gone" if job is None else f"{job.state}, at fence {job.fence}"
        raise FenceLost(f"job {job_id} is {stands}, and not running at {fence}")


def end_claimed(connection: Connection, job_id: str, fence: int, ending: Ending) -> None:
    """By its holder. Ending it once more as it ended changes nothing."""
    job = _lock(connection, job_id)
    if job is not None and (job.fence, job.state) == (fence, ending.state):
        return
    check_fence(connection, job_id, fence)
    end(connection, job_id, ending)


def end(connection: Connection, job_id: str, ending: Ending) -> None:
    """End a job whose row is locked."""
    how = {
        "state": ending.state,
        "end_reason": ending.reason,
        "error": storable_text(ending.error, ERROR_CHARACTERS),
    }
    _change(connection, job_id, {**how, "ended_at": datetime.now(UTC)})
    forget_job_lease(connection, job_id)
    append_state(connection, job_id, ending.state, ending.reason)
    append_event(connection, job_id, "end", how)


def cancel(connection: Connection, job_id: str) -> Submitted:
    job = _owned(connection, job_id)
    if job.ended_at is not None:
        if job.state != "cancelled":
            raise WrongState(f"job {job_id} has {job.state} and cannot be cancelled")
        return _reload(connection, job_id)
    lease = standing_lease(connection, job_id)
    if lease is None or not lease.is_live:
        end(connection, job_id, Ending("cancelled", "cancelled"))
    elif job.cancel_asked_at is None:
        _change(connection, job_id, {"cancel_asked_at": datetime.now(UTC)})
    return _reload(connection, job_id)


def resume(
    connection: Connection, job_id: str, trials: int | None, seconds: float | None
) -> Submitted:
    """The trials it has stay its trials. InvalidInput: a total below what they have spent. WrongState: some are forgotten,
    and what they took of the budget and the space with them."""
    job = _owned(connection, job_id)
    if job.state not in {"failed", "cancelled"}:
        raise WrongState(f"job {job_id} is {job.state}, and neither failed nor cancelled")
    if has_forgotten(connection, job_id):
        raise WrongState(
            f"job {job_id} has {job.state}, and trials of it are forgotten: submit anew"
        )
    spent = spent_trials(connection, job_id)
    if trials is not None and trials < spent:
        raise InvalidInput(
            f"trials is {trials}: job {job_id} has spent {spent} already, a total is at least that"
        )
    columns: Columns = {
        "state": "queued",
        "end_reason": "",
        "error": "",
        "ended_at": None,
        "cancel_asked_at": None,
        "queued_until": queued_until(connection, job.queue_seconds),
        "trials": job.trials if trials is None else trials,
        "seconds": job.seconds if seconds is None else seconds,
    }
    _change(connection, job_id, columns)
    append_state(connection, job_id, "queued")
    return _reload(connection, job_id)


def queued_until(connection: Connection, seconds: float | None) -> datetime | None:
    """When a job that is queued now has waited too long."""
    return None if seconds is None else instant(connection) + timedelta(seconds=seconds)


def end_overdue(connection: Connection) -> int:
    """Those that another transaction is at are left to it."""
    overdue = (
        select(JobRow.id, JobRow.queue_seconds, JobRow.target_key)
        .where(JobRow.owner.is_not(None), JobRow.ended_at.is_(None), JobRow.state == "queued")
        .where(JobRow.queued_until <= instant(connection))
        .order_by(JobRow.id)
        .with_for_update(skip_locked=True)
    )
    found = connection.execute(overdue).all()
    for job in found:
        while_waiting = _seen_while_waiting(connection, job.target_key)
        error = f"not started within {job.queue_seconds:g} s: {while_waiting}"
        end(connection, job.id, Ending("failed", "error", error))
    return len(found)


def _seen_while_waiting(connection: Connection, target_key: str) -> str:
    """What kept a job of a target waiting, as far as one sees at its end."""
    wanted = _but_threads(load_target(connection, target_key) or {})
    able = [w for w in load_workers(connection, alive_only=True) if w.state == "active"]
    n = sum(_but_threads(worker.target) == wanted for worker in able)
    if not n:
        return f"no worker of target {target_key} is there"
    are = "worker is" if n == 1 else "workers are"
    return f"{n} {are} there for target {target_key}, at other work"


def _but_threads(target: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in target.items() if name != "threads"}


def _lock(connection: Connection, job_id: str) -> ResultRow | None:
    wanted = select(*JobRow.__table__.columns).where(JobRow.id == job_id)
    return connection.execute(wanted.with_for_update(key_share=True)).first()


def _owned(connection: Connection, job_id: str) -> ResultRow:
    job = _lock(connection, job_id)
    if job is None or job.owner is None:
        raise KeyError(f"job {job_id}")
    return job


def _change(connection: Connection, job_id: str, columns: Columns) -> None:
    connection.execute(update(JobRow).where(JobRow.id == job_id).values(columns))


def _reload(connection: Connection, job_id: str) -> Submitted:
    found = load_submitted(connection, job_id)
    assert found is not None
    return found
