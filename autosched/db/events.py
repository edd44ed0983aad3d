"""What happened to a job, in order: numbers come from a counter on the job's row, whose lock makes them gapless.

Whoever sees number n sees all before it, for n + 1 can only be taken once n is committed or was never there.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from autosched.db.schema import JobRow
from autosched.db.service_schema import EventRow
from autosched.jobs.record import EndReason, EventType, JobEvent
from autosched.records.rules import storable_json
from autosched.records.store import JobState


def append_event(
    connection: Connection, job_id: str, type: EventType, data: Mapping[str, Any]
) -> None:
    """The job's next event, in the transaction of what it tells. KeyError: there is no such job."""
    counted = (
        update(JobRow)
        .where(JobRow.id == job_id)
        .values(event_count=JobRow.event_count + 1)
        .returning(JobRow.event_count)
    )
    number = connection.scalar(counted)
    if number is None:
        raise KeyError(f"job {job_id}")
    row = {
        "job_id": job_id,
        "number": number,
        "type": type,
        "data": storable_json(dict(data)),
        "created_at": datetime.now(UTC),
    }
    connection.execute(insert(EventRow), [row])


def append_state(
    connection: Connection, job_id: str, state: JobState, end_reason: EndReason = ""
) -> None:
    """The event of a job's new state."""
    append_event(connection, job_id, "job", {"state": state, "end_reason": end_reason})


def load_events(
    connection: Connection, job_id: str, after: int, limit: int
) -> tuple[JobEvent, ...]:
    wanted = (
        select(EventRow.number, EventRow.type, EventRow.data, EventRow.created_at)
        .where(EventRow.job_id == job_id, EventRow.number > after)
        .order_by(EventRow.number)
        .limit(limit)
    )
    return tuple(
        JobEvent(job_id, row.number, row.type, row.data, row.created_at)
        for row in connection.execute(wanted)
    )
