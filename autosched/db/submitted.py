"""Submitted jobs in SQL, as their owners read them; jobs of local commands are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select

from autosched.db.jobs import Tasks, job_of, load_history_ids, load_tasks
from autosched.db.rows import Query, ResultRow
from autosched.db.schema import JobRow
from autosched.jobs.record import JobFilter, Page, Submitted


def load_submitted(connection: Connection, job_id: str) -> Submitted | None:
    row = connection.execute(_select().where(JobRow.id == job_id)).first()
    if row is None:
        return None
    return _submitted_of(
        row, load_tasks(connection, [job_id]), load_history_ids(connection, job_id)
    )


def list_submitted(connection: Connection, wanted: JobFilter, page: Page) -> tuple[Submitted, ...]:
    """Newest first, for ids grow with time; without histories."""
    query = _select().order_by(JobRow.id.desc()).limit(page.limit)
    if page.after is not None:
        query = query.where(JobRow.id < page.after)
    if wanted.owner is not None:
        query = query.where(JobRow.owner == wanted.owner)
    if wanted.state is not None:
        query = query.where(JobRow.state == wanted.state)
    if wanted.label is not None:
        query = query.where(_has_label(connection, *wanted.label))
    rows = connection.execute(query).all()
    tasks = load_tasks(connection, [row.id for row in rows])
    return tuple(_submitted_of(row, tasks, ()) for row in rows)


def queue_depth(connection: Connection) -> Mapping[str, int]:
    """Submitted jobs that have not ended, by state."""
    unended = select(JobRow.state, func.count()).where(
        JobRow.owner.is_not(None), JobRow.ended_at.is_(None)
    )
    found = dict(connection.execute(unended.group_by(JobRow.state)).all())
    return {state: found.get(state, 0) for state in ("queued", "running")}


def ended_jobs(connection: Connection) -> Mapping[str, int]:
    """Submitted jobs that have ended and are kept, by state."""
    ended = select(JobRow.state, func.count()).where(
        JobRow.owner.is_not(None), JobRow.ended_at.is_not(None)
    )
    found = dict(connection.execute(ended.group_by(JobRow.state)).all())
    return {state: found.get(state, 0) for state in ("succeeded", "failed", "cancelled")}


def _has_label(connection: Connection, name: str, value: str) -> Any:
    """Compared as values: a name in a JSON path could be one of its operators."""
    is_sqlite = connection.dialect.name == "sqlite"
    each = func.json_each if is_sqlite else func.json_each_text
    pairs = each(JobRow.labels).table_valued("key", "value")
    return select(pairs.c.key).where(pairs.c.key == name, pairs.c.value == value).exists()


def _select() -> Query:
    return select(*JobRow.__table__.columns).where(JobRow.owner.is_not(None))


def _submitted_of(row: ResultRow, tasks: Tasks, history: tuple[str, ...]) -> Submitted:
    return Submitted(
        job=job_of(row, tasks, history),
        owner=row.owner,
        seconds=row.seconds,
        policy=row.policy,
        priority=row.priority,
        labels=row.labels,
        fence=row.fence,
        started_at=row.started_at,
        queued_until=row.queued_until,
        is_cancel_asked=row.cancel_asked_at is not None,
        error=row.error,
    )
