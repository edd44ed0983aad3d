"""The queue as a dispatcher chooses from it, in SQL: read in one transaction, so that its parts fit."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, and_, func, select

from autosched.db.leases import IS_LIVE
from autosched.db.moves import waiting
from autosched.db.schema import JobRow
from autosched.db.service_schema import DEVICE, JOB, LeaseRow, WorkerRow
from autosched.db.turns import owner_seconds
from autosched.jobs.queue import Survey

MOST_WAITING = 100


def survey(
    connection: Connection, holder: str, target_keys: list[str], window_seconds: float
) -> Survey:
    return Survey(
        waiting(connection, target_keys, MOST_WAITING),
        owner_seconds(connection, window_seconds),
        _holding(connection),
        _hungry(connection, holder, target_keys),
    )


def _holding(connection: Connection) -> Mapping[str, int]:
    """Jobs with a live lease, by owner."""
    held = (
        select(JobRow.owner, func.count())
        .join(LeaseRow, and_(LeaseRow.kind == JOB, LeaseRow.name == JobRow.id))
        .where(IS_LIVE)
        .group_by(JobRow.owner)
    )
    return {str(owner): int(n) for owner, n in connection.execute(held)}


def _hungry(connection: Connection, holder: str, target_keys: list[str]) -> int:
    """Others with a live lease of a device, and none of a job."""
    busy = select(LeaseRow.holder).where(LeaseRow.kind == JOB, IS_LIVE)
    found = (
        select(func.count(LeaseRow.holder.distinct()))
        .join(WorkerRow, WorkerRow.id == LeaseRow.holder)
        .where(LeaseRow.kind == DEVICE, IS_LIVE, LeaseRow.holder != holder)
        .where(WorkerRow.target_key.in_(target_keys), LeaseRow.holder.not_in(busy))
    )
    return int(connection.scalar(found) or 0)
