"""Forgetting what is no longer of use.

Kept whatever their age, with all their runs:

| trial | because |
|---|---|
| of an unfinished job, or in the history of one | its search reads them again |
| the winner of a setting | it is the answer of a lookup |
| ever timed side by side | it tells why the winner won |
| number 0 | it is what a winner is compared with |
| open | it is no result yet |
| reused by a trial that is kept | that trial's result is its |

A forgotten candidate may be measured again, and a search that began from forgotten records cannot be repeated. How many
trials of which outcome a task had stays with it; a job of which any are forgotten is not resumed.

Of a service are forgotten:

| row | when |
|---|---|
| events of an ended job, save those that tell its end | as old |
| turns on devices | as old; a job's seconds stay with it |
| tokens | revoked or expired as long ago |
| idempotency keys of ended jobs | as old, and past the days in which they stand for something |
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, or_, select, update
from sqlalchemy.orm import aliased

from autosched.db.chunks import chunks
from autosched.db.engine import in_write
from autosched.db.schema import BestRow, HistoryRow, JobRow, RunRow, TaskRow, TrialRow
from autosched.db.service_schema import EventRow, TokenRow, TurnRow
from autosched.db.store import SqlTuningStore
from autosched.jobs.queue import IDEMPOTENCY_DAYS


@dataclass(frozen=True)
class Pruned:
    """What was forgotten, or would be."""

    trials: int
    measurements: int
    events: int = 0
    turns: int = 0
    tokens: int = 0
    idempotency_keys: int = 0


def prune(store: SqlTuningStore, before: datetime, *, dry_run: bool = False) -> Pruned:
    """Forget the trials closed before an instant (with a time zone), save those kept. With `dry_run` only count."""
    pruned = in_write(store.engine, lambda c: _prune(c, before, dry_run))
    if any(astuple(pruned)) and not dry_run and store.engine.dialect.name == "sqlite":
        _give_back_space(store)
    return pruned


def _prune(connection: Connection, before: datetime, dry_run: bool) -> Pruned:
    rows = list(connection.scalars(_forgettable(before)))
    runs = 0
    if not dry_run:
        _note_forgotten(connection, rows)
    for chunk in chunks(rows):
        mine = select(func.count()).where(RunRow.trial_id.in_(chunk))
        runs += connection.scalar(mine) or 0
        if not dry_run:
            connection.execute(delete(RunRow).where(RunRow.trial_id.in_(chunk)))
            connection.execute(delete(HistoryRow).where(HistoryRow.trial_id.in_(chunk)))
    if not dry_run:
        _delete_trials(connection, rows)
    return Pruned(len(rows), runs, *_prune_service(connection, before, dry_run))


def _prune_service(connection: Connection, before: datetime, dry_run: bool) -> Iterator[int]:
    """How many rows of each kind, in the order of `Pruned`."""
    ended = select(JobRow.id).where(JobRow.ended_at.is_not(None))
    ended_events = (EventRow.created_at < before) & EventRow.job_id.in_(ended)
    forgotten = (
        (EventRow, ended_events & (EventRow.type != "end")),
        (TurnRow, TurnRow.ended_at < before.timestamp()),
        (TokenRow, or_(TokenRow.revoked_at < before, TokenRow.expires_at < before)),
    )
    for table, is_old in forgotten:
        yield connection.scalar(select(func.count()).select_from(table).where(is_old)) or 0
        if not dry_run:
            connection.execute(delete(table).where(is_old))
    stand_since = min(before, datetime.now(UTC) - timedelta(days=IDEMPOTENCY_DAYS))
    is_idle = (JobRow.created_at < stand_since) & JobRow.ended_at.is_not(None)
    is_idle &= JobRow.idempotency_key.is_not(None)
    yield connection.scalar(select(func.count()).where(is_idle)) or 0
    if not dry_run:
        connection.execute(update(JobRow).where(is_idle).values(idempotency_key=None))


def _note_forgotten(connection: Connection, rows: list[int]) -> None:
    """Count the trials with their tasks before they go."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for chunk in chunks(rows):
        mine = select(TrialRow.task_id, TrialRow.outcome).where(TrialRow.id.in_(chunk))
        for task_id, outcome in connection.execute(mine):
            counts[task_id][str(outcome)] += 1
    for task_id, more in counts.items():
        task = TaskRow.id == task_id
        before = connection.scalar(select(TaskRow.forgotten).where(task))
        total = Counter(before) + more
        connection.execute(update(TaskRow).where(task).values(forgotten=dict(total)))


def _delete_trials(connection: Connection, rows: list[int]) -> None:
    """Those that reuse another's result go before it."""
    reusing = TrialRow.reused_id.is_not(None)
    for first in (reusing, ~reusing):
        for chunk in chunks(rows):
            connection.execute(delete(TrialRow).where(TrialRow.id.in_(chunk), first))


def _forgettable(before: datetime) -> Any:
    """Rows of the trials that none of the table's reasons keeps."""
    kept = _kept(before, TrialRow)
    reuser = aliased(TrialRow)
    reused_by_kept = select(reuser.reused_id).where(
        reuser.reused_id.is_not(None), _kept(before, reuser)
    )
    return (
        select(TrialRow.id).where(~kept, TrialRow.id.not_in(reused_by_kept)).order_by(TrialRow.id)
    )


def _kept(before: datetime, trial: Any) -> Any:
    unfinished = (
        select(TaskRow.id)
        .join(JobRow, JobRow.id == TaskRow.job_id)
        .where(JobRow.ended_at.is_(None))
    )
    read_again = (
        select(HistoryRow.trial_id)
        .join(JobRow, JobRow.id == HistoryRow.job_id)
        .where(JobRow.ended_at.is_(None))
    )
    return or_(
        trial.closed_at.is_(None),
        trial.closed_at >= before,
        trial.number == 0,
        trial.task_id.in_(unfinished),
        trial.id.in_(read_again),
        trial.id.in_(select(BestRow.trial_id)),
        trial.id.in_(select(RunRow.trial_id).where(RunRow.purpose == "confirm")),
    )


def _give_back_space(store: SqlTuningStore) -> None:
    """SQLite keeps the pages of deleted rows until it is told to, outside of any transaction; while others use the
    file it cannot, and the next pruning will."""
    raw = store.engine.raw_connection()
    try:
        with suppress(sqlite3.OperationalError):
            for statement in ("vacuum", "pragma wal_checkpoint(truncate)"):
                raw.cursor().execute(statement).close()
    finally:
        raw.close()
