"""Workers in SQL: what they offer, and when they were last seen, by the database's clock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection, select, update

from autosched.db.clock import instant
from autosched.db.rows import ResultRow
from autosched.db.schema import TargetRow, ToolchainRow
from autosched.db.service_schema import WorkerRow
from autosched.db.targets import insert_missing, target_columns, toolchain_columns
from autosched.db.upsert import insert_into
from autosched.jobs.workers import ALIVE_SECONDS, Worker, WorkerState
from autosched.plain import check_plain
from autosched.records.rules import ERROR_CHARACTERS, storable_text


def register(connection: Connection, worker: Worker) -> None:
    """A worker of this id that is there is replaced. InvalidInput names what is no plain text; its note is made one."""
    for what, name in (("worker", worker.id), ("host", worker.host)):
        check_plain(what, name)
    for device in worker.devices:
        check_plain("device", device)
    insert_missing(connection, TargetRow, [target_columns(worker.target_key, worker.target)])
    toolchain = toolchain_columns(worker.toolchain_key, worker.toolchain)
    insert_missing(connection, ToolchainRow, [toolchain])
    now = instant(connection)
    columns = {
        "host": worker.host,
        "target_key": worker.target_key,
        "max_threads": worker.max_threads,
        "toolchain_key": worker.toolchain_key,
        "devices": list(worker.devices),
        "versions": dict(worker.versions),
        "state": worker.state,
        "note": storable_text(worker.note, ERROR_CHARACTERS),
        "started_at": worker.started_at or now,
        "seen_at": now,
    }
    row = insert_into(connection, WorkerRow).values(id=worker.id, **columns)
    connection.execute(row.on_conflict_do_update(index_elements=[WorkerRow.id], set_=columns))


def mark_seen(connection: Connection, worker_id: str, state: WorkerState) -> None:
    seen = {"seen_at": instant(connection), "state": state}
    connection.execute(update(WorkerRow).where(WorkerRow.id == worker_id).values(seen))


def load_workers(connection: Connection, alive_only: bool) -> Sequence[Worker]:
    """Latest first."""
    wanted = (
        select(
            *WorkerRow.__table__.columns,
            TargetRow.fields.label("target"),
            ToolchainRow.fields.label("toolchain"),
        )
        .join(TargetRow, TargetRow.key == WorkerRow.target_key)
        .join(ToolchainRow, ToolchainRow.key == WorkerRow.toolchain_key)
        .order_by(WorkerRow.started_at.desc(), WorkerRow.id)
    )
    if alive_only:
        since = instant(connection) - timedelta(seconds=ALIVE_SECONDS)
        wanted = wanted.where(WorkerRow.seen_at > since, WorkerRow.state != "gone")
    return tuple(_worker_of(row) for row in connection.execute(wanted))


def _worker_of(row: ResultRow) -> Worker:
    return Worker(
        id=row.id,
        host=row.host,
        target_key=row.target_key,
        target=row.target,
        max_threads=row.max_threads,
        toolchain_key=row.toolchain_key,
        toolchain=row.toolchain,
        devices=tuple(row.devices),
        versions=row.versions,
        state=row.state,
        note=row.note,
        started_at=row.started_at,
        seen_at=row.seen_at,
    )
