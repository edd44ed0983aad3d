"""The queue as a dispatcher chooses from it, in SQL: read in one transaction, so that its parts fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, and_, func, select

from autosched.db.leases import IS_LIVE
from autosched.db.moves import waiting
from autosched.db.schema import JobRow
from autosched.db.service_schema import DEVICE, JOB, LeaseRow
from autosched.db.turns import owner_seconds
from autosched.db.workers import load_workers
from autosched.jobs.queue import Survey
from autosched.jobs.record import SetupKey

MOST_WAITING = 100


def survey(
    connection: Connection, holder: str, setups: Collection[SetupKey], window_seconds: float
) -> Survey:
    return Survey(
        waiting(connection, setups, MOST_WAITING),
        owner_seconds(connection, window_seconds),
        _holding(connection),
        _hungry(connection, holder, setups),
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


def _hungry(connection: Connection, holder: str, setups: Collection[SetupKey]) -> int:
    """Others with a live lease of a device for these setups, and none of a job."""
    busy = select(LeaseRow.holder).where(LeaseRow.kind == JOB, IS_LIVE)
    idle = (
        select(LeaseRow.holder, LeaseRow.name)
        .where(LeaseRow.kind == DEVICE, IS_LIVE, LeaseRow.holder != holder)
        .where(LeaseRow.holder.not_in(busy))
    )
    leased = connection.execute(idle).all()
    if not leased:
        return 0
    serving = {
        device
        for worker in load_workers(connection, alive_only=True)
        if SetupKey(worker.target_key, worker.toolchain_key) in setups
        for device in worker.devices
    }
    return len({row.holder for row in leased if row.name in serving})
