"""Trials in SQL: proposed a round at a time, closed once, sent again after a death."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, union, update

from autosched.db.rows import (
    RUN_COLUMNS,
    Columns,
    Query,
    is_trial,
    measurement_row_of,
    run_columns,
    select_trials,
    trial_columns,
    trial_of,
)
from autosched.db.schema import RunRow, TaskRow, TrialRow
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Setting, Trial
from autosched.records.rules import (
    UNMEASURED,
    culprit_of,
    fresh_trials,
    lost_measurement,
    may_reuse,
)
from autosched.records.store import MeasurementRow


class Twin(NamedTuple):
    """A measured trial of the same candidate and setting."""

    row: int
    outcome: Outcome
    median_seconds: float | None


# Built once, for building a statement takes longer than running it, and these run for every trial.
_TO_CLOSE: Query = (
    select(
        TrialRow.id,
        TrialRow.outcome,
        TrialRow.candidate_key,
        TrialRow.workload_key,
        TrialRow.target_key,
        TrialRow.toolchain_key,
    )
    .where(TrialRow.task_id == bindparam("task"), TrialRow.number == bindparam("wanted"))
    .with_for_update()
)
_OF_TASK: Query = select(TrialRow.number, TrialRow.candidate_key).where(
    TrialRow.task_id == bindparam("task")
)
_TAKEN: Query = union(  # not `or`, for which SQLite reads the whole task
    _OF_TASK.where(TrialRow.number.in_(bindparam("numbers", expanding=True))),
    _OF_TASK.where(TrialRow.candidate_key.in_(bindparam("candidates", expanding=True))),
)
_TWINS: Query = (
    select(TrialRow.candidate_key, TrialRow.id, TrialRow.outcome, TrialRow.median_seconds)
    .where(
        TrialRow.candidate_key.in_(bindparam("candidates", expanding=True)),
        TrialRow.workload_key == bindparam("workload"),
        TrialRow.target_key == bindparam("target"),
        TrialRow.toolchain_key == bindparam("toolchain"),
        TrialRow.reused_id.is_(None),
        TrialRow.outcome.not_in([o.value for o in UNMEASURED]),
    )
    .order_by(TrialRow.id)
)
_TRIALS: Query = (
    select_trials().where(TrialRow.task_id == bindparam("task")).order_by(TrialRow.number)
)
_TRIALS_NUMBERED: Query = select_trials().where(
    TrialRow.task_id == bindparam("task"),
    TrialRow.number.in_(bindparam("numbers", expanding=True)),
)
_CLOSE = update(TrialRow).where(TrialRow.id == bindparam("row"))
_INSERT_RUN = insert(RunRow)


def setting_of(connection: Connection, task_id: str) -> Setting:
    """Workload, target and toolchain of a task, whose row stays locked where the database has row locks."""
    wanted = select(TaskRow.workload_key, TaskRow.target_key, TaskRow.toolchain_key)
    row = connection.execute(wanted.where(TaskRow.id == task_id).with_for_update()).one()
    return row[0], row[1], row[2]


def load_trials(connection: Connection, task_id: str) -> tuple[Trial, ...]:
    return tuple(map(trial_of, connection.execute(_TRIALS, {"task": task_id})))


def load_trial(connection: Connection, text: str) -> Trial | None:
    row = connection.execute(select_trials().where(is_trial(text))).first()
    return None if row is None else trial_of(row)


def propose(connection: Connection, task_id: str, trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Insert what is not there yet; the trials as they stand."""
    setting = setting_of(connection, task_id)
    numbers = [t.number for t in trials]
    keys = [t.candidate.key for t in trials]
    wanted = {"task": task_id, "numbers": numbers, "candidates": keys}
    taken = dict(connection.execute(_TAKEN, wanted).all())
    fresh = fresh_trials(task_id, trials, taken)
    twins = find_twins(connection, setting, [t.candidate.key for t in fresh])
    now = datetime.now(UTC)
    rows = [_proposed_columns(t, setting, twins, now) for t in fresh]
    if rows:
        connection.execute(insert(TrialRow), rows)
    _insert_search_runs(connection, [t for t in fresh if t.measurement is not None])
    mine = connection.execute(_TRIALS_NUMBERED, {"task": task_id, "numbers": numbers})
    stored = {row.number: trial_of(row) for row in mine}
    return tuple(stored[number] for number in numbers)


def _proposed_columns(
    trial: Trial, setting: Setting, twins: dict[str, list[Twin]], now: datetime
) -> Columns:
    columns = trial_columns(trial, setting, now)
    if trial.measurement is not None:
        return columns | _closed_columns(trial.measurement, now)
    twin = _reusable(trial.number, twins.get(trial.candidate.key, []))
    if twin is not None:
        return columns | _reused_columns(twin, now)
    return columns | dict.fromkeys(("outcome", "median_seconds", "reused_id", "closed_at"))


def _closed_columns(measurement: Measurement, now: datetime) -> Columns:
    timing = measurement.timing
    return {
        "outcome": measurement.outcome.value,
        "median_seconds": None if timing is None else timing.median_seconds,
        "reused_id": None,
        "closed_at": now,
    }


def _reused_columns(twin: Twin, now: datetime) -> Columns:
    return {
        "outcome": twin.outcome.value,
        "median_seconds": twin.median_seconds,
        "reused_id": twin.row,
        "closed_at": now,
    }


def _insert_search_runs(connection: Connection, closed: Sequence[Trial]) -> None:
    if not closed:
        return
    task_id, numbers = closed[0].task_id, [t.number for t in closed]
    mine = (TrialRow.task_id == task_id) & TrialRow.number.in_(numbers)
    found = connection.execute(select(TrialRow.number, TrialRow.id).where(mine))
    row_of = dict(found.all())
    now = datetime.now(UTC)
    runs = [
        {"trial_id": row_of[t.number], **run_columns("search", t.measurement, now)}
        for t in closed
        if t.measurement is not None
    ]
    connection.execute(_INSERT_RUN, runs)


def find_twins(
    connection: Connection, setting: Setting, candidate_keys: Sequence[str]
) -> dict[str, list[Twin]]:
    """Measured trials of these candidates in the setting, first come first."""
    workload, target, toolchain = setting
    keys = {"workload": workload, "target": target, "toolchain": toolchain}
    rows = connection.execute(_TWINS, {**keys, "candidates": list(candidate_keys)})
    found: dict[str, list[Twin]] = {}
    for row in rows:
        twin = Twin(row.id, Outcome(row.outcome), row.median_seconds)
        found.setdefault(row.candidate_key, []).append(twin)
    return found


def _reusable(number: int, twins: Sequence[Twin]) -> Twin | None:
    return next((t for t in twins if may_reuse(number, t.outcome)), None)


def close(connection: Connection, task_id: str, number: int, measurement: Measurement) -> bool:
    """The compare-and-set: False if the trial was closed already."""
    trial = connection.execute(_TO_CLOSE, {"task": task_id, "wanted": number}).one()
    if trial.outcome is not None:
        return False
    setting = (trial.workload_key, trial.target_key, trial.toolchain_key)
    twins = find_twins(connection, setting, [trial.candidate_key]).get(trial.candidate_key, [])
    twin, now = _reusable(number, twins), datetime.now(UTC)
    columns = _reused_columns(twin, now) if twin else _closed_columns(measurement, now)
    connection.execute(_CLOSE, {"row": trial.id, **columns})
    if twin is None:
        run = {"trial_id": trial.id, **run_columns("search", measurement, now)}
        connection.execute(_INSERT_RUN, [run])
    return True


def resend(connection: Connection, task_id: str, attempts: int) -> tuple[Trial, ...]:
    """Open trials to their next attempt; the culprit, if there is one, to `lost`."""
    setting_of(connection, task_id)
    is_open = (TrialRow.task_id == task_id) & TrialRow.outcome.is_(None)
    wanted = select_trials().where(is_open).order_by(TrialRow.number)
    culprit = culprit_of([trial_of(row) for row in connection.execute(wanted)], attempts)
    connection.execute(update(TrialRow).where(is_open).values(attempt=TrialRow.attempt + 1))
    if culprit is not None:
        close(connection, task_id, culprit.number, lost_measurement(culprit.attempt))
    return tuple(trial_of(row) for row in connection.execute(wanted))


def next_attempt(connection: Connection, task_id: str, number: int, attempts: int) -> int | None:
    """An open trial to its next attempt; None where it has had them all or is closed."""
    wanted = (
        select(TrialRow.id, TrialRow.attempt)
        .where(TrialRow.task_id == task_id, TrialRow.number == number, TrialRow.outcome.is_(None))
        .with_for_update()
    )
    trial = connection.execute(wanted).first()
    if trial is None or trial.attempt >= attempts:
        return None
    raised = {"attempt": trial.attempt + 1}
    connection.execute(update(TrialRow).where(TrialRow.id == trial.id).values(raised))
    return int(trial.attempt) + 1


def add_measurement(connection: Connection, row: MeasurementRow) -> None:
    """One more run of a finished trial."""
    finished = select(TrialRow.id).where(is_trial(row.trial_id), TrialRow.outcome.is_not(None))
    found = connection.scalar(finished)
    if found is None:
        raise ValueError(f"trial {row.trial_id} is not a finished trial")
    columns = run_columns(row.purpose, row.measurement, datetime.now(UTC))
    environment = {**columns["environment"], **row.environment}
    run = {**columns, "trial_id": found, "environment": environment}
    connection.execute(_INSERT_RUN, [run])


def load_measurements(connection: Connection, text: str) -> tuple[MeasurementRow, ...]:
    wanted: Query = (
        select(RunRow.purpose, *RUN_COLUMNS)
        .join(TrialRow, TrialRow.id == RunRow.trial_id)
        .where(is_trial(text))
        .order_by(RunRow.id)
    )
    return tuple(measurement_row_of(text, row) for row in connection.execute(wanted))
