"""Finished trials in SQL, as a search reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, select

from autosched.db.chunks import chunks
from autosched.db.rows import CANDIDATE_COLUMNS, Query, history_record_of
from autosched.db.schema import TargetRow, TrialRow
from autosched.records.outcome import Outcome
from autosched.records.record import split_trial_id, trial_id
from autosched.records.store import HistoryRecord


def select_history() -> Query:
    """Finished trials, for `history_record_of`."""
    return select(
        TrialRow.task_id,
        TrialRow.number,
        TrialRow.workload_key,
        TrialRow.target_key,
        TrialRow.toolchain_key,
        *CANDIDATE_COLUMNS,
        TrialRow.outcome,
        TrialRow.median_seconds,
        TrialRow.features,
        TrialRow.features_schema,
    ).where(TrialRow.outcome.is_not(None))


def load_history(
    connection: Connection, target_isa: str, workload_key: str | None, limit: int
) -> tuple[HistoryRecord, ...]:
    """Newest first; pruned and reused trials say nothing new."""
    targets = select(TargetRow.key).where(TargetRow.isa == target_isa)
    wanted = (
        select_history()
        .where(TrialRow.outcome != Outcome.PRUNED.value, TrialRow.reused_id.is_(None))
        .where(TrialRow.target_key.in_(targets))
        .order_by(TrialRow.id.desc())
        .limit(limit)
    )
    if workload_key is not None:
        wanted = wanted.where(TrialRow.workload_key == workload_key)
    return tuple(history_record_of(row) for row in connection.execute(wanted))


def load_records(connection: Connection, trial_ids: Sequence[str]) -> tuple[HistoryRecord, ...]:
    """The finished ones, in the order given."""
    found: dict[str, HistoryRecord] = {}
    for task_id, numbers in _by_task(trial_ids):
        mine = (TrialRow.task_id == task_id) & TrialRow.number.in_(numbers)
        for row in connection.execute(select_history().where(mine)):
            record = history_record_of(row)
            found[record.trial_id] = record
    return tuple(found[i] for i in trial_ids if i in found)


def row_ids(connection: Connection, trial_ids: Sequence[str]) -> dict[str, int]:
    """The row of each trial that is there."""
    found: dict[str, int] = {}
    for task_id, numbers in _by_task(trial_ids):
        mine = (TrialRow.task_id == task_id) & TrialRow.number.in_(numbers)
        rows = connection.execute(select(TrialRow.number, TrialRow.id).where(mine))
        found.update((trial_id(task_id, number), row) for number, row in rows)
    return found


def _by_task(trial_ids: Sequence[str]) -> Iterator[tuple[str, Sequence[int]]]:
    numbers: dict[str, list[int]] = {}
    for parts in map(split_trial_id, trial_ids):
        if parts is not None:
            numbers.setdefault(parts[0], []).append(parts[1])
    for task_id, found in numbers.items():
        for part in chunks(found):
            yield task_id, part
