"""What is known in SQL as a job begins: the history its search starts from, and the bounds of its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select, update

from autosched.db.jobs import insert_history
from autosched.db.schema import HistoryRow, TaskRow

Bounds = Mapping[str, tuple[float, float | None]]
"""By task: the operations of one call and the roofline's seconds."""


def begin(connection: Connection, job_id: str, history: Sequence[str], bounds: Bounds) -> None:
    """The first to begin decides where the search starts, be it nowhere; the job's row is locked before."""
    if not _has_begun(connection, job_id):
        insert_history(connection, job_id, history)
    for task_id, (operations, seconds) in bounds.items():
        mine = (TaskRow.id == task_id) & (TaskRow.job_id == job_id)
        columns = {"operations": operations, "bound_seconds": seconds}
        connection.execute(update(TaskRow).where(mine).values(columns))


def _has_begun(connection: Connection, job_id: str) -> bool:
    known = select(TaskRow.id).where(TaskRow.job_id == job_id, TaskRow.operations.is_not(None))
    noted = select(HistoryRow.position).where(HistoryRow.job_id == job_id)
    return any(connection.scalar(found.limit(1)) is not None for found in (known, noted))
