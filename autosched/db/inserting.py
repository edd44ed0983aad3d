"""The lines of a checked export file as rows, in one transaction; see `importing` for what wins over what."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from autosched.db import exchange
from autosched.db.chunks import ITEMS_A_STATEMENT, chunks
from autosched.db.events import append_event
from autosched.db.history import row_ids
from autosched.db.jobs import spec_key, spec_of
from autosched.db.reading import ExportFile
from autosched.db.rows import TIMING_NAMES, Columns, ResultRow, in_setting, setting_columns
from autosched.db.schema import (
    BestRow,
    HistoryRow,
    JobRow,
    RunRow,
    TargetRow,
    TaskRow,
    ToolchainRow,
    TrialRow,
    WorkloadRow,
)
from autosched.db.targets import calibrate, insert_missing, target_columns, workload_columns
from autosched.db.trials import Twin, find_twins
from autosched.db.winners import shape_columns
from autosched.errors import InvalidInput
from autosched.records.record import Candidate
from autosched.records.rules import ERROR_CHARACTERS, UNMEASURED, storable_text


@dataclass
class Insertion:
    """One import under way: `known` is the row of every trial that is there, `roots` the row whose search run is its
    result."""

    connection: Connection
    file: ExportFile
    counts: Counter[str] = field(default_factory=Counter)
    known: dict[str, int] = field(default_factory=dict)
    roots: dict[int, int] = field(default_factory=dict)
    pending: dict[str, Columns] = field(default_factory=dict)


def insert_file(connection: Connection, file: ExportFile) -> Mapping[str, int]:
    """How many of each kind were new."""
    insertion = Insertion(connection, file)
    _insert_keys(insertion)
    new_jobs = _insert_jobs(insertion)
    _insert_trials(insertion)
    _insert_histories(insertion, new_jobs)
    _insert_measurements(insertion)
    _note_standings(insertion)
    _insert_best(insertion)
    return insertion.counts


def _insert_keys(insertion: Insertion) -> None:
    connection, file, counts = insertion.connection, insertion.file, insertion.counts
    targets = [target_columns(t.key, t.fields) for t in file.of(exchange.TargetLine)]
    counts["target"] = insert_missing(connection, TargetRow, targets)
    toolchains = [{"key": t.key, "fields": t.fields} for t in file.of(exchange.ToolchainLine)]
    counts["toolchain"] = insert_missing(connection, ToolchainRow, toolchains)
    workloads = [workload_columns(w.key, w.text) for w in file.of(exchange.WorkloadLine)]
    counts["workload"] = insert_missing(connection, WorkloadRow, workloads)
    for line in file.of(exchange.CalibrationLine):
        calibrate(connection, line.target_key, line.values)


def _insert_jobs(insertion: Insertion) -> list[exchange.JobLine]:
    connection, file = insertion.connection, insertion.file
    there = set(connection.scalars(select(JobRow.id)))
    new = [job for job in file.jobs.values() if job.id not in there]
    fresh = {job.id for job in new}
    tasks = [t for t in file.tasks.values() if t.job_id in fresh]
    rows = [_job_columns(job) for job in new]
    _insert(connection, JobRow, rows)
    for row in rows:
        if row["owner"] is not None:
            _tell_end(connection, row)
    _insert(connection, TaskRow, [_task_columns(file, t) for t in tasks])
    stored = set(connection.scalars(select(TaskRow.id)))
    for task in file.tasks.values():
        if task.id not in stored:
            raise InvalidInput(f"job {task.job_id} is there already, without task {task.id}")
    insertion.counts.update(job=len(new), task=len(tasks))
    return new


def _tell_end(connection: Connection, job: Columns) -> None:
    """Whoever follows a submitted job that came in, which has ended, waits for that event."""
    how = {name: job[name] for name in ("state", "end_reason", "error")}
    append_event(connection, job["id"], "end", how)


def _job_columns(job: exchange.JobLine) -> Columns:
    key = spec_key(spec_of(job)) if job.owner is None else job.id
    columns = job.model_dump(exclude={"kind", "history"}) | {"spec_key": key}
    columns["error"] = storable_text(job.error, ERROR_CHARACTERS)
    if job.ended_at is not None:
        return columns
    reason = "imported unfinished" if job.owner is None else "cancelled"
    ended = {"state": "cancelled", "end_reason": reason}
    return columns | ended | {"ended_at": datetime.now(UTC)}


def _task_columns(file: ExportFile, task: exchange.TaskLine) -> Columns:
    job = file.jobs[task.job_id]
    keys = {"target_key": job.target_key, "toolchain_key": job.toolchain_key}
    return task.model_dump(exclude={"kind", "standing"}) | keys


def _insert_trials(insertion: Insertion) -> None:
    file = insertion.file
    _learn_rows(insertion, file.trials)
    _check_same_candidates(insertion)
    new = [t for t in file.trials.values() if t.id not in insertion.known]
    twins = _local_twins(insertion, new)
    for trial in new:
        if trial.reused_from in insertion.pending:
            _flush(insertion)
        insertion.pending[trial.id] = _trial_columns(insertion, trial, twins.get(trial.id))
        if len(insertion.pending) >= ITEMS_A_STATEMENT:
            _flush(insertion)
    _flush(insertion)
    insertion.counts["trial"] = len(new)


def _learn_rows(insertion: Insertion, trial_ids: Iterable[str]) -> None:
    found = row_ids(insertion.connection, list(trial_ids))
    insertion.known.update(found)
    for rows in chunks(list(found.values())):
        wanted = select(TrialRow.id, TrialRow.reused_id).where(TrialRow.id.in_(rows))
        for row, reused in insertion.connection.execute(wanted):
            insertion.roots[row] = row if reused is None else reused


def _check_same_candidates(insertion: Insertion) -> None:
    """A trial that is there must be the one in the file."""
    trial_of = {row: trial for trial, row in insertion.known.items()}
    for rows in chunks(list(trial_of)):
        wanted = select(TrialRow.id, TrialRow.candidate_key).where(TrialRow.id.in_(rows))
        for row, key in insertion.connection.execute(wanted):
            trial = insertion.file.trials[trial_of[row]]
            if trial.candidate_key != key:
                raise InvalidInput(f"trial {trial.id} is candidate {key} here, and not the same")


def _local_twins(insertion: Insertion, new: list[exchange.TrialLine]) -> dict[str, Twin]:
    """For new trials with a result of their own: the trial that measured their candidate here."""
    file = insertion.file
    own = [t for t in new if t.number > 0 and t.reused_from is None]
    own = [t for t in own if file.result(t).outcome not in UNMEASURED]
    found: dict[str, Twin] = {}
    for setting, group in groupby(sorted(own, key=file.setting), key=file.setting):
        for trials in chunks(list(group)):
            keys = [t.candidate_key for t in trials]
            twins = find_twins(insertion.connection, setting, keys)
            found.update(
                (t.id, twins[t.candidate_key][0]) for t in trials if t.candidate_key in twins
            )
    return found


def _trial_columns(insertion: Insertion, trial: exchange.TrialLine, twin: Twin | None) -> Columns:
    file = insertion.file
    result = file.result(trial)
    reused: int | None = None
    if trial.reused_from is not None:
        reused = insertion.roots[insertion.known[trial.reused_from]]
    median = None if result.timing is None else result.timing.median_seconds
    outcome = result.outcome.value
    if twin is not None:
        reused, outcome, median = twin.row, twin.outcome.value, twin.median_seconds
    columns = trial.model_dump(exclude={"kind", "reused_from"})
    columns["features"] = tuple(math.nan if x is None else x for x in trial.features)
    columns["structure_key"] = Candidate(
        tuple(columns["derivation"]), trial.values, trial.candidate_key
    ).structure_key
    return {
        **columns,
        **setting_columns(file.setting(trial)),
        "outcome": outcome,
        "median_seconds": median,
        "reused_id": reused,
    }


def _flush(insertion: Insertion) -> None:
    pending = insertion.pending
    _insert(insertion.connection, TrialRow, list(pending.values()))
    _learn_rows(insertion, pending)
    pending.clear()


def _insert_histories(insertion: Insertion, jobs: list[exchange.JobLine]) -> None:
    for job in jobs:
        found = row_ids(insertion.connection, job.history)
        rows = [found[i] for i in job.history if i in found]
        columns = [{"job_id": job.id, "position": p, "trial_id": r} for p, r in enumerate(rows)]
        _insert(insertion.connection, HistoryRow, columns)


def _insert_measurements(insertion: Insertion) -> None:
    there: set[tuple[Any, ...]] = set()
    for rows in chunks(list(insertion.known.values())):
        wanted = select(
            RunRow.trial_id, RunRow.purpose, RunRow.side_by_side, RunRow.measured_at
        ).where(RunRow.trial_id.in_(rows))
        there.update(_identity(*row) for row in insertion.connection.execute(wanted))
    new: list[Columns] = []
    for run in insertion.file.of(exchange.MeasurementLine):
        row = insertion.known[run.trial_id]
        is_reused = run.purpose == "search" and insertion.roots[row] != row
        identity = _identity(row, run.purpose, run.side_by_side, run.measured_at)
        if not is_reused and identity not in there:
            new.append(_run_columns(run, row))
    _insert(insertion.connection, RunRow, new)
    insertion.counts["measurement"] = len(new)


def _identity(row: int, purpose: str, side_by_side: str | None, at: datetime) -> tuple[Any, ...]:
    """What makes two runs the same one: a trial has one search run and one in each comparison."""
    if purpose == "search":
        return (row, purpose)
    return (row, purpose, side_by_side or at)


def _run_columns(run: exchange.MeasurementLine, row: int) -> Columns:
    columns = run.model_dump(exclude={"kind", "timing"}) | {"trial_id": row}
    columns["outcome"] = run.outcome.value
    timing = dict.fromkeys(TIMING_NAMES) if run.timing is None else run.timing.model_dump()
    return columns | timing


def _note_standings(insertion: Insertion) -> None:
    """Of tasks that have none."""
    for task in insertion.file.tasks.values():
        if task.standing is not None:
            run = _confirming_run(insertion, task.standing)
            columns = {"default_seconds": task.standing.default_seconds, "best_run_id": run.id}
            unknown = (TaskRow.id == task.id) & TaskRow.best_run_id.is_(None)
            insertion.connection.execute(update(TaskRow).where(unknown).values(columns))


def _confirming_run(
    insertion: Insertion, won: exchange.StandingObject | exchange.BestLine
) -> ResultRow:
    row = insertion.known[won.trial_id]
    wanted = select(RunRow.id, RunRow.trial_id, RunRow.median_seconds).where(
        RunRow.trial_id == row, RunRow.side_by_side == won.side_by_side
    )
    return insertion.connection.execute(wanted).one()


def _insert_best(insertion: Insertion) -> None:
    connection = insertion.connection
    texts = {w.key: w.text for w in insertion.file.of(exchange.WorkloadLine)}
    for best in insertion.file.of(exchange.BestLine):
        run = _confirming_run(insertion, best)
        same = in_setting(BestRow, (best.workload_key, best.target_key, best.toolchain_key))
        standing = select(RunRow.median_seconds).join(BestRow, BestRow.measurement_id == RunRow.id)
        stands = connection.scalar(standing.where(*same))
        if stands is not None and stands <= run.median_seconds:
            continue
        connection.execute(delete(BestRow).where(*same))
        columns = best.model_dump(exclude={"kind", "side_by_side"})
        columns |= {"trial_id": run.trial_id, "measurement_id": run.id}
        columns |= shape_columns(texts[best.workload_key])
        connection.execute(insert(BestRow), [columns])
        insertion.counts["best"] += 1


def _insert(connection: Connection, table: Any, rows: list[Columns]) -> None:
    for chunk in chunks(rows):
        connection.execute(insert(table), chunk)
