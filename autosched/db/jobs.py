"""Jobs and tasks in SQL: opened or found again, ended, read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from dataclasses import fields as dataclass_fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from autosched.db.history import row_ids
from autosched.db.rows import Columns, Query, ResultRow
from autosched.db.schema import (
    HistoryRow,
    JobRow,
    TargetRow,
    TaskRow,
    ToolchainRow,
    TrialRow,
    WorkloadRow,
)
from autosched.db.targets import (
    insert_missing,
    target_columns,
    toolchain_columns,
    workload_columns,
)
from autosched.records.identity import new_job_id
from autosched.records.record import task_id_of, trial_id
from autosched.records.store import Job, JobSpec, JobState, TaskSpec


@dataclass(frozen=True)
class Opening:
    """What `open_job` is given."""

    spec: JobSpec
    tasks: Sequence[TaskSpec]
    target: Mapping[str, Any]
    toolchain: Mapping[str, Any]
    history: Sequence[str]


def open_job(connection: Connection, opening: Opening) -> Job:
    """The unfinished job of the specification, else a new one."""
    wanted = spec_key(opening.spec)
    unfinished = select(JobRow.id).where(JobRow.spec_key == wanted, JobRow.ended_at.is_(None))
    job_id = connection.scalar(unfinished)
    if job_id is None:
        job_id = new_job_id()
        insert_job(connection, opening, {"id": job_id, "spec_key": wanted, "state": "running"})
    job = load_job(connection, job_id)
    assert job is not None
    return job


def spec_of(fields: Any) -> JobSpec:
    """The specification in a whole row, a submission or a line of an export file, which name its fields alike."""
    found = {f.name: getattr(fields, f.name) for f in dataclass_fields(JobSpec)}
    return JobSpec(**found | {"seed": int(fields.seed)})


def spec_key(spec: JobSpec) -> str:
    """Content key of a specification."""
    text = json.dumps(asdict(spec), sort_keys=True)
    return f"j1-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def insert_job(connection: Connection, opening: Opening, columns: Columns) -> None:
    """A new job with its keys, tasks and history; `columns` hold the id and what no specification says."""
    spec, job_id = opening.spec, columns["id"]
    _insert_keys(connection, opening)
    job = {
        **asdict(spec),
        "seed": str(spec.seed),
        "end_reason": "",
        "created_at": datetime.now(UTC),
        **columns,
    }
    connection.execute(insert(JobRow), [job])
    tasks = [_task_columns(job_id, i, t, spec) for i, t in enumerate(opening.tasks)]
    if tasks:
        connection.execute(insert(TaskRow), tasks)
    insert_history(connection, job_id, opening.history)


def insert_history(connection: Connection, job_id: str, history: Sequence[str]) -> None:
    """Note the trials that are there as what the job's search starts from."""
    found = row_ids(connection, history)
    used = [i for i in history if i in found]
    rows = [{"job_id": job_id, "position": p, "trial_id": found[i]} for p, i in enumerate(used)]
    if rows:
        connection.execute(insert(HistoryRow), rows)


def _task_columns(job_id: str, position: int, task: TaskSpec, spec: JobSpec) -> Columns:
    return {
        "id": task_id_of(job_id, position),
        "job_id": job_id,
        "position": position,
        "name": task.name,
        "workload_key": task.workload_key,
        "target_key": spec.target_key,
        "toolchain_key": spec.toolchain_key,
        "weight": task.weight,
        "reference": task.reference,
    }


def _insert_keys(connection: Connection, opening: Opening) -> None:
    """The target, toolchain and workloads behind a job's keys, those that are not there yet."""
    spec = opening.spec
    insert_missing(connection, TargetRow, [target_columns(spec.target_key, opening.target)])
    toolchain = toolchain_columns(spec.toolchain_key, opening.toolchain)
    insert_missing(connection, ToolchainRow, [toolchain])
    texts = {t.workload_key: t.workload_text for t in opening.tasks}
    insert_missing(connection, WorkloadRow, [workload_columns(k, t) for k, t in texts.items()])


def end_job(connection: Connection, job_id: str, state: JobState, end_reason: str) -> None:
    """The first end stays."""
    ended = {"state": state, "end_reason": end_reason, "ended_at": datetime.now(UTC)}
    running = (JobRow.id == job_id) & JobRow.ended_at.is_(None)
    connection.execute(update(JobRow).where(running).values(ended))


def load_job(connection: Connection, job_id: str) -> Job | None:
    row = connection.execute(_select_jobs().where(JobRow.id == job_id)).first()
    if row is None:
        return None
    return job_of(row, load_tasks(connection, [job_id]), load_history_ids(connection, job_id))


def load_history_ids(connection: Connection, job_id: str) -> tuple[str, ...]:
    """The trials that the job's search started from."""
    used = (
        select(TrialRow.task_id, TrialRow.number)
        .join(HistoryRow, HistoryRow.trial_id == TrialRow.id)
        .where(HistoryRow.job_id == job_id)
        .order_by(HistoryRow.position)
    )
    return tuple(trial_id(task, number) for task, number in connection.execute(used))


def load_jobs(connection: Connection, limit: int) -> tuple[Job, ...]:
    """Newest first, without histories."""
    newest = _select_jobs().order_by(JobRow.created_at.desc(), JobRow.id.desc()).limit(limit)
    rows = connection.execute(newest).all()
    tasks = load_tasks(connection, [row.id for row in rows])
    return tuple(job_of(row, tasks, ()) for row in rows)


def _select_jobs() -> Query:
    return select(*JobRow.__table__.columns)


Tasks = Mapping[str, list[tuple[str, TaskSpec]]]


def load_tasks(connection: Connection, job_ids: Sequence[str]) -> Tasks:
    """The tasks of each job in order."""
    wanted = (
        select(TaskRow.id, TaskRow.job_id, TaskRow.name, TaskRow.weight, TaskRow.reference)
        .add_columns(WorkloadRow.key, WorkloadRow.text)
        .join(WorkloadRow, WorkloadRow.key == TaskRow.workload_key)
        .where(TaskRow.job_id.in_(job_ids))
        .order_by(TaskRow.job_id, TaskRow.position)
    )
    found: dict[str, list[tuple[str, TaskSpec]]] = {}
    for row in connection.execute(wanted):
        task = TaskSpec(row.name, row.key, row.text, row.weight, row.reference)
        found.setdefault(row.job_id, []).append((row.id, task))
    return found


def job_of(row: ResultRow, tasks: Tasks, history: tuple[str, ...]) -> Job:
    """The job of a whole row."""
    return Job(
        row.id,
        spec_of(row),
        row.state,
        tuple(tasks.get(row.id, ())),
        history,
        row.created_at,
        row.ended_at,
        row.end_reason,
    )
