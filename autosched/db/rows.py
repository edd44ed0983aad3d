"""Rows to values and back; nothing is decided here.

A trial is read with its search run (that of the trial it reused, if any) in one joined row, so names that both tables
have carry the prefix `run_`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from sqlalchemy import and_, func, select
from sqlalchemy.orm import aliased

from autosched.db.schema import BestRow, RunRow, TrialRow
from autosched.records.outcome import Outcome
from autosched.records.record import (
    Candidate,
    Measurement,
    Purpose,
    Setting,
    Timing,
    Trial,
    split_trial_id,
    trial_id,
)
from autosched.records.store import BestRecord, HistoryRecord, MeasurementRow

Columns = dict[str, Any]
ResultRow = Any
"""A row with the columns that the query beside it names."""
Query = Any

Reused = aliased(TrialRow)

TIMING_NAMES = tuple(f.name for f in fields(Timing))
"""Columns of a run that are null together where it has no timing."""

CANDIDATE_COLUMNS = (TrialRow.candidate_key, TrialRow.derivation, TrialRow.values)
TRIAL_COLUMNS = (
    TrialRow.task_id,
    TrialRow.number,
    TrialRow.round,
    TrialRow.attempt,
    *CANDIDATE_COLUMNS,
    TrialRow.space_version,
    TrialRow.features,
    TrialRow.features_schema,
)

RUN_COLUMNS = (
    RunRow.outcome.label("run_outcome"),
    RunRow.median_seconds.label("run_median_seconds"),
    RunRow.spread_seconds,
    RunRow.n_samples,
    RunRow.contended_share,
    RunRow.threads,
    RunRow.mode,
    RunRow.error,
    RunRow.log,
    RunRow.build_seconds,
    RunRow.run_seconds,
    RunRow.source_digest,
    RunRow.max_error,
    RunRow.early_stopped,
    RunRow.environment,
)


IS_SEARCH_RUN = and_(
    RunRow.trial_id == func.coalesce(TrialRow.reused_id, TrialRow.id), RunRow.purpose == "search"
)
"""The condition that a run is the one whose result a trial has."""


def select_trials() -> Query:
    """Trials with their search runs, for `trial_of`."""
    return (
        select(
            *TRIAL_COLUMNS,
            TrialRow.outcome,
            Reused.task_id.label("reused_task_id"),
            Reused.number.label("reused_number"),
            *RUN_COLUMNS,
        )
        .outerjoin(RunRow, IS_SEARCH_RUN)
        .outerjoin(Reused, Reused.id == TrialRow.reused_id)
    )


def in_setting(table: type[TrialRow | BestRow], setting: Setting) -> tuple[Any, ...]:
    """The conditions that a row holds for a setting."""
    columns = (table.workload_key, table.target_key, table.toolchain_key)
    return tuple(column == key for column, key in zip(columns, setting, strict=True))


def is_trial(text: str) -> Any:
    """The condition that a row of `trials` is the trial of this id; none is where the text is no id."""
    task_id, number = split_trial_id(text) or ("", -1)
    return and_(TrialRow.task_id == task_id, TrialRow.number == number)


def trial_of(row: ResultRow) -> Trial:
    reused = row.reused_task_id
    return Trial(
        task_id=row.task_id,
        number=row.number,
        round=row.round,
        candidate=candidate_of(row),
        attempt=row.attempt,
        measurement=None if row.outcome is None else measurement_of(row),
        features=row.features,
        features_schema=row.features_schema,
        space_version=row.space_version,
        reused_from="" if reused is None else trial_id(reused, row.reused_number),
    )


def candidate_of(row: ResultRow) -> Candidate:
    return Candidate(tuple(row.derivation), row.values, row.candidate_key)


def setting_columns(setting: Setting) -> Columns:
    return dict(zip(("workload_key", "target_key", "toolchain_key"), setting, strict=True))


def trial_columns(trial: Trial, setting: Setting, proposed_at: datetime) -> Columns:
    """An open row; its search run and the columns that repeat it come by `close`."""
    return {
        **setting_columns(setting),
        "task_id": trial.task_id,
        "number": trial.number,
        "round": trial.round,
        "attempt": trial.attempt,
        "candidate_key": trial.candidate.key,
        "structure_key": trial.candidate.structure_key,
        "derivation": list(trial.candidate.derivation),
        "values": dict(trial.candidate.values),
        "space_version": trial.space_version,
        "features": trial.features,
        "features_schema": trial.features_schema,
        "proposed_at": proposed_at,
    }


def measurement_of(row: ResultRow) -> Measurement:
    return Measurement(
        outcome=Outcome(row.run_outcome),
        timing=timing_of(row),
        error=row.error,
        log=row.log,
        build_seconds=row.build_seconds,
        run_seconds=row.run_seconds,
        source_digest=row.source_digest,
        max_error=row.max_error,
        early_stopped=row.early_stopped,
        device=row.environment.get("device", ""),
    )


def timing_of(row: ResultRow) -> Timing | None:
    if row.run_median_seconds is None:
        return None
    return Timing(
        row.run_median_seconds,
        row.spread_seconds,
        row.n_samples,
        row.contended_share,
        row.threads,
        row.mode,
    )


def run_columns(purpose: Purpose, measurement: Measurement, measured_at: datetime) -> Columns:
    """Columns of a run, all but `trial_id`."""
    timing = measurement.timing
    return {
        **(dict.fromkeys(TIMING_NAMES) if timing is None else asdict(timing)),
        "purpose": purpose,
        "outcome": measurement.outcome.value,
        "error": measurement.error,
        "log": measurement.log,
        "build_seconds": measurement.build_seconds,
        "run_seconds": measurement.run_seconds,
        "source_digest": measurement.source_digest,
        "max_error": measurement.max_error,
        "early_stopped": measurement.early_stopped,
        "environment": {"device": measurement.device} if measurement.device else {},
        "measured_at": measured_at,
    }


def measurement_row_of(trial: str, row: ResultRow) -> MeasurementRow:
    environment: Mapping[str, Any] = row.environment
    return MeasurementRow(trial, row.purpose, measurement_of(row), environment)


def history_record_of(row: ResultRow) -> HistoryRecord:
    return HistoryRecord(
        trial_id(row.task_id, row.number),
        row.workload_key,
        row.target_key,
        row.toolchain_key,
        candidate_of(row),
        Outcome(row.outcome),
        row.median_seconds,
        row.features,
        row.features_schema,
    )


def select_best() -> Query:
    """Winners with trial and confirming run, for `best_of`."""
    return (
        select(
            BestRow.workload_key,
            BestRow.target_key,
            BestRow.toolchain_key,
            BestRow.space_version,
            BestRow.default_seconds,
            BestRow.source_digest.label("text_digest"),
            BestRow.measured_at,
            TrialRow.task_id,
            TrialRow.number,
            *CANDIDATE_COLUMNS,
            *RUN_COLUMNS,
        )
        .join(TrialRow, TrialRow.id == BestRow.trial_id)
        .join(RunRow, RunRow.id == BestRow.measurement_id)
        .order_by(BestRow.workload_key, BestRow.target_key, BestRow.toolchain_key)
    )


def best_of(row: ResultRow) -> BestRecord:
    timing = timing_of(row)
    assert timing is not None, "a confirming run has a timing"
    return BestRecord(
        trial_id(row.task_id, row.number),
        row.workload_key,
        row.target_key,
        row.toolchain_key,
        row.space_version,
        candidate_of(row),
        timing,
        row.default_seconds,
        row.text_digest,
        row.measured_at,
    )
