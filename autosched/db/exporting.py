"""Writing the export file: one consistent view of the database, whole or not at all."""

from __future__ import annotations

import math
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.orm import aliased

from autosched.db import exchange
from autosched.db.engine import in_read
from autosched.db.rows import TIMING_NAMES, TRIAL_COLUMNS, Query, ResultRow
from autosched.db.schema import (
    BestRow,
    CalibrationRow,
    HistoryRow,
    JobRow,
    RunRow,
    TargetRow,
    TaskRow,
    ToolchainRow,
    TrialRow,
    WorkloadRow,
)
from autosched.db.store import SqlTuningStore
from autosched.db.upgrade import current_revision
from autosched.errors import InvalidInput
from autosched.records.record import trial_id

ROWS_A_FETCH = 500


def export_file(store: SqlTuningStore, path: Path) -> Mapping[str, int]:
    """Write everything but open trials to `path`; answers how many lines of each kind.

    The file is written beside its place and renamed when it is complete. InvalidInput: it cannot be written.
    """
    try:
        return in_read(store.engine, lambda connection: _write(connection, path), one_state=True)
    except OSError as error:
        raise InvalidInput(f"export file {str(path)!r} cannot be written: {error}") from None


def _write(connection: Connection, path: Path) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            for line in _lines(connection):
                file.write(line.model_dump_json() + "\n")
                counts[line.kind] += 1
            file.write(exchange.EndLine(lines=counts.total() + 1).model_dump_json() + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    counts.pop("header")
    return counts


def _lines(connection: Connection) -> Iterator[exchange.AnyLine]:
    yield exchange.HeaderLine(
        autosched_export=exchange.EXPORT_VERSION,
        schema_version=current_revision(connection),
        exported_at=datetime.now(UTC),
    )
    yield from _keys(connection)
    yield from _jobs(connection)
    yield from _trials(connection)
    yield from _measurements(connection)
    yield from _best(connection)


def _rows(connection: Connection, wanted: Query) -> Iterator[ResultRow]:
    yield from connection.execution_options(yield_per=ROWS_A_FETCH).execute(wanted)


def _keys(connection: Connection) -> Iterator[exchange.AnyLine]:
    for row in _rows(connection, select(TargetRow.key, TargetRow.fields).order_by(TargetRow.key)):
        yield exchange.TargetLine(key=row.key, fields=row.fields)
    toolchains = select(ToolchainRow.key, ToolchainRow.fields).order_by(ToolchainRow.key)
    for row in _rows(connection, toolchains):
        yield exchange.ToolchainLine(key=row.key, fields=row.fields)
    workloads = select(WorkloadRow.key, WorkloadRow.text).order_by(WorkloadRow.key)
    for row in _rows(connection, workloads):
        yield exchange.WorkloadLine(key=row.key, text=row.text)
    numbers = select(*CalibrationRow.__table__.columns).order_by(
        CalibrationRow.target_key, CalibrationRow.name
    )
    for key, found in groupby(_rows(connection, numbers), key=lambda row: row.target_key):
        yield exchange.CalibrationLine(target_key=key, values={r.name: r.value for r in found})


def _jobs(connection: Connection) -> Iterator[exchange.AnyLine]:
    history = _histories(connection)
    columns = [c for c in JobRow.__table__.columns if c.name in exchange.JobLine.model_fields]
    for row in _rows(connection, select(*columns).order_by(JobRow.created_at, JobRow.id)):
        yield exchange.JobLine(**row._mapping, history=history.get(row.id, []))
    for row in _rows(connection, _select_tasks()):
        yield exchange.TaskLine(
            **{name: row._mapping[name] for name in _TASK_COLUMNS}, standing=_standing(row)
        )


_TASK_COLUMNS = tuple(
    c.name for c in TaskRow.__table__.columns if c.name in exchange.TaskLine.model_fields
)


def _select_tasks() -> Query:
    return (
        select(
            *(TaskRow.__table__.columns[name] for name in _TASK_COLUMNS),
            TaskRow.default_seconds,
            RunRow.side_by_side,
            TrialRow.task_id,
            TrialRow.number,
        )
        .outerjoin(RunRow, RunRow.id == TaskRow.best_run_id)
        .outerjoin(TrialRow, TrialRow.id == RunRow.trial_id)
        .order_by(TaskRow.job_id, TaskRow.position)
    )


def _standing(row: ResultRow) -> exchange.StandingObject | None:
    if row.side_by_side is None:
        return None
    return exchange.StandingObject(
        trial_id=trial_id(row.task_id, row.number),
        side_by_side=row.side_by_side,
        default_seconds=row.default_seconds,
    )


def _histories(connection: Connection) -> dict[str, list[str]]:
    wanted = (
        select(HistoryRow.job_id, TrialRow.task_id, TrialRow.number)
        .join(TrialRow, TrialRow.id == HistoryRow.trial_id)
        .order_by(HistoryRow.job_id, HistoryRow.position)
    )
    found: dict[str, list[str]] = {}
    for job, task, number in _rows(connection, wanted):
        found.setdefault(job, []).append(trial_id(task, number))
    return found


def _trials(connection: Connection) -> Iterator[exchange.AnyLine]:
    reused = aliased(TrialRow)
    wanted = (
        select(
            *TRIAL_COLUMNS,
            TrialRow.proposed_at,
            TrialRow.closed_at,
            reused.task_id.label("reused_task"),
            reused.number.label("reused_number"),
        )
        .outerjoin(reused, reused.id == TrialRow.reused_id)
        .where(TrialRow.outcome.is_not(None))
        .order_by(TrialRow.id)
    )
    for row in _rows(connection, wanted):
        columns: dict[str, Any] = dict(row._mapping)
        task, number = columns.pop("reused_task"), columns.pop("reused_number")
        columns["reused_from"] = None if task is None else trial_id(task, number)
        columns["features"] = [x if math.isfinite(x) else None for x in row.features]
        columns["derivation"] = [exchange.StepObject(**step) for step in row.derivation]
        yield exchange.TrialLine(**columns)


def _measurements(connection: Connection) -> Iterator[exchange.AnyLine]:
    wanted = (
        select(*RunRow.__table__.columns, TrialRow.task_id, TrialRow.number)
        .join(TrialRow, TrialRow.id == RunRow.trial_id)
        .order_by(RunRow.id)
    )
    for row in _rows(connection, wanted):
        columns: dict[str, Any] = dict(row._mapping)
        del columns["id"]
        columns["trial_id"] = trial_id(columns.pop("task_id"), columns.pop("number"))
        timing = {name: columns.pop(name) for name in TIMING_NAMES}
        timed = timing["median_seconds"] is not None
        columns["timing"] = exchange.TimingObject(**timing) if timed else None
        yield exchange.MeasurementLine(**columns)


def _best(connection: Connection) -> Iterator[exchange.AnyLine]:
    wanted = (
        select(*BestRow.__table__.columns, TrialRow.task_id, TrialRow.number, RunRow.side_by_side)
        .join(TrialRow, TrialRow.id == BestRow.trial_id)
        .join(RunRow, RunRow.id == BestRow.measurement_id)
        .order_by(BestRow.workload_key, BestRow.target_key, BestRow.toolchain_key)
    )
    for row in _rows(connection, wanted):
        columns: dict[str, Any] = dict(row._mapping)
        for name in ("measurement_id", "family_key", "log2_size"):
            del columns[name]
        columns["trial_id"] = trial_id(columns.pop("task_id"), columns.pop("number"))
        yield exchange.BestLine(**columns)
