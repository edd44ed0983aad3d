"""Finished trials in SQL, as a search reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, select

from autosched.db.chunks import chunks
from autosched.db.rows import CANDIDATE_COLUMNS, Query, history_record_of
from autosched.db.schema import IS_HISTORY, TargetRow, TrialRow
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
    """Newest first; pruned and reused trials say nothing new.

    Read along an index of each target, which stops at `limit` rows however many there are."""
    rows: list[int] = []
    targets = connection.scalars(select(TargetRow.key).where(TargetRow.isa == target_isa)).all()
    for target in targets:
        mine = select(TrialRow.id).where(TrialRow.target_key == target, IS_HISTORY)
        if workload_key is not None:
            mine = mine.where(TrialRow.workload_key == workload_key)
        rows += connection.scalars(mine.order_by(TrialRow.id.desc()).limit(limit))
    newest = sorted(rows, reverse=True)[:limit]
    found: list[HistoryRecord] = []
    for part in chunks(newest):
        wanted = select_history().where(TrialRow.id.in_(part)).order_by(TrialRow.id.desc())
        found += map(history_record_of, connection.execute(wanted))
    return tuple(found)


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
