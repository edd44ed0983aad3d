"""Leases of jobs and devices in SQL: who holds what until when, by the database's clock.

A lease that is over stays until another takes it, and tells whether its holder handed it over. Its holder may still
renew it until then, for nothing was decided without him.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, or_, select, tuple_, update

from autosched.db.clock import now_seconds
from autosched.db.rows import Columns, Query, ResultRow
from autosched.db.schema import JobRow
from autosched.db.service_schema import DEVICE, JOB, LeaseRow
from autosched.db.upsert import insert_into
from autosched.jobs.queue import Renewal

IS_LIVE = and_(LeaseRow.until > now_seconds(), LeaseRow.is_released.is_(False))


@dataclass(frozen=True)
class Taking:
    """A lease to be; `fence` is 0 for a device."""

    kind: str
    name: str
    holder: str
    seconds: float
    fence: int = 0
    is_inherited: bool = False

    @property
    def columns(self) -> Columns:
        return {
            "kind": self.kind,
            "name": self.name,
            "holder": self.holder,
            "fence": self.fence,
            "until": now_seconds() + self.seconds,
            "is_released": False,
            "is_inherited": self.is_inherited,
        }


def job_is_held() -> Query:
    """The condition that somebody holds the job of a row of `jobs`."""
    mine = select(LeaseRow.name).where(LeaseRow.kind == JOB, LeaseRow.name == JobRow.id, IS_LIVE)
    return mine.correlate(JobRow).exists()


def standing_lease(connection: Connection, job_id: str) -> ResultRow | None:
    """The last lease of a job, its row locked: `holder`, `is_live`, `is_released`, `is_inherited`."""
    wanted = (
        select(
            LeaseRow.holder,
            LeaseRow.is_released,
            LeaseRow.is_inherited,
            IS_LIVE.label("is_live"),
        )
        .where(LeaseRow.kind == JOB, LeaseRow.name == job_id)
        .with_for_update()
    )
    return connection.execute(wanted).first()


def take(connection: Connection, taking: Taking) -> bool:
    """Take or lengthen a lease; False if another holds it. A job's row is locked before."""
    insertion = insert_into(connection, LeaseRow).values(taking.columns)
    is_free = or_(~IS_LIVE, LeaseRow.holder == taking.holder)
    changed = {k: v for k, v in taking.columns.items() if k not in {"kind", "name"}}
    upsert = insertion.on_conflict_do_update(
        index_elements=[LeaseRow.kind, LeaseRow.name], set_=changed, where=is_free
    )
    return connection.scalar(upsert.returning(LeaseRow.name)) is not None


def renew(
    connection: Connection,
    holder: str,
    fences: Mapping[str, int],
    devices: Sequence[str],
    seconds: float,
) -> Renewal:
    """Lengthen what is still the holder's."""
    held = [(JOB, job, fence) for job, fence in fences.items()]
    held += [(DEVICE, device, 0) for device in devices]
    if not held:
        return Renewal(frozenset(), frozenset(), frozenset())
    mine = tuple_(LeaseRow.kind, LeaseRow.name, LeaseRow.fence).in_(held)
    renewed = (
        update(LeaseRow)
        .where(mine, LeaseRow.holder == holder, LeaseRow.is_released.is_(False))
        .values(until=now_seconds() + seconds)
        .returning(LeaseRow.kind, LeaseRow.name)
    )
    still = connection.execute(renewed).all()
    jobs = frozenset(name for kind, name in still if kind == JOB)
    asked = select(JobRow.id).where(JobRow.id.in_(jobs), JobRow.cancel_asked_at.is_not(None))
    return Renewal(
        jobs,
        frozenset(name for kind, name in still if kind == DEVICE),
        frozenset(connection.scalars(asked)) if jobs else frozenset(),
    )


def release_job(
    connection: Connection, holder: str, job_id: str, fence: int, is_clean: bool
) -> None:
    """Hand a job over. One that is not clean looks like a lease that ran out, of a holder who is nobody."""
    mine = (LeaseRow.kind == JOB) & (LeaseRow.name == job_id)
    mine &= (LeaseRow.holder == holder) & (LeaseRow.fence == fence)
    over = {"holder": "", "until": 0.0, "is_released": is_clean}
    connection.execute(update(LeaseRow).where(mine).values(over))


def release_devices(connection: Connection, holder: str) -> None:
    mine = (LeaseRow.kind == DEVICE) & (LeaseRow.holder == holder)
    connection.execute(delete(LeaseRow).where(mine))


def forget_job_lease(connection: Connection, job_id: str) -> None:
    """Of a job that ended."""
    connection.execute(delete(LeaseRow).where(LeaseRow.kind == JOB, LeaseRow.name == job_id))
