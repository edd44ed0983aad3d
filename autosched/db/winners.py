"""Side-by-side runs and the confirmed winners, in SQL; one transaction writes both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from autosched.db.chunks import chunks
from autosched.db.rows import (
    Columns,
    Query,
    ResultRow,
    best_of,
    in_setting,
    is_trial,
    run_columns,
    select_best,
    setting_columns,
)
from autosched.db.schema import BestRow, RunRow, TaskRow, TrialRow, WorkloadRow
from autosched.db.trials import setting_of
from autosched.records.family import family_key, log2_size
from autosched.records.outcome import CONFIRMABLE, Outcome
from autosched.records.record import Measurement, Setting
from autosched.records.rules import default_timing, replaces, side_by_side_key
from autosched.records.store import BestRecord, Confirmation, Relative, Stamp, Stamps


def confirm(connection: Connection, confirmation: Confirmation) -> BestRecord | None:
    """Store the runs; write the best if the winner replaces it."""
    setting = setting_of(connection, confirmation.task_id)
    key = side_by_side_key(confirmation)
    standing = _standing(connection, setting)
    contenders = {i: _contender(connection, i, setting) for i in confirmation.timings}
    winner = contenders[confirmation.winner].id
    stored = (RunRow.trial_id == winner) & (RunRow.side_by_side == key)
    if connection.scalar(select(RunRow.id).where(stored)):
        return standing
    runs = _insert_runs(connection, confirmation, contenders, key)
    default = default_timing(confirmation)
    stands = {"default_seconds": default.median_seconds, "best_run_id": runs[confirmation.winner]}
    connection.execute(update(TaskRow).where(TaskRow.id == confirmation.task_id).values(stands))
    if not replaces(confirmation, standing, {row.candidate_key for row in contenders.values()}):
        return None
    text = connection.execute(
        select(WorkloadRow.text).where(WorkloadRow.key == setting[0])
    ).scalar_one()
    best = {
        **setting_columns(setting),
        "trial_id": winner,
        "measurement_id": runs[confirmation.winner],
        "space_version": confirmation.space_version,
        "source_digest": confirmation.source_digest,
        "default_seconds": default.median_seconds,
        "measured_at": datetime.now(UTC),
        **shape_columns(text),
    }
    connection.execute(delete(BestRow).where(*in_setting(BestRow, setting)))
    connection.execute(insert(BestRow), [best])
    return _standing(connection, setting)


def shape_columns(workload_text: str) -> Columns:
    """What finds a winner from near shapes."""
    return {"family_key": family_key(workload_text), "log2_size": log2_size(workload_text)}


def _insert_runs(
    connection: Connection,
    confirmation: Confirmation,
    contenders: Mapping[str, ResultRow],
    key: str,
) -> dict[str, int]:
    """The row of each contender's run."""
    now = datetime.now(UTC)
    found: dict[str, int] = {}
    for i, timing in confirmation.timings.items():
        digest = confirmation.source_digest if i == confirmation.winner else ""
        measured = Measurement(Outcome.OK, timing, source_digest=digest)
        run = {"trial_id": contenders[i].id, **run_columns("confirm", measured, now)}
        inserted = insert(RunRow).values({**run, "side_by_side": key}).returning(RunRow.id)
        found[i] = connection.execute(inserted).scalar_one()
    return found


def _contender(connection: Connection, text: str, setting: Setting) -> ResultRow:
    wanted = select(TrialRow.id, TrialRow.candidate_key, TrialRow.outcome).where(
        is_trial(text),
        *in_setting(TrialRow, setting),
    )
    row = connection.execute(wanted).first()
    if row is None:
        raise ValueError(f"trial {text} is not one of workload, target, toolchain {setting}")
    if row.outcome not in CONFIRMABLE:
        raise ValueError(f"trial {text} has no valid result to confirm")
    return row


def _standing(connection: Connection, setting: Setting) -> BestRecord | None:
    return next(iter(load_best(connection, *setting)), None)


@cache
def _select_best_by(*columns: str) -> Query:
    """Built once, for building a statement takes longer than running it: lookups are many."""
    conditions = (getattr(BestRow, name) == bindparam(name) for name in columns)
    return select_best().where(*conditions)


_BESTS: Query = select_best().where(BestRow.workload_key.in_(bindparam("keys", expanding=True)))


def load_best(
    connection: Connection, workload_key: str, target_key: str | None, toolchain_key: str | None
) -> tuple[BestRecord, ...]:
    setting = {
        "workload_key": workload_key,
        "target_key": target_key,
        "toolchain_key": toolchain_key,
    }
    given = {name: key for name, key in setting.items() if key is not None}
    return tuple(map(best_of, connection.execute(_select_best_by(*given), given)))


def load_bests(
    connection: Connection, workload_keys: Sequence[str]
) -> dict[str, tuple[BestRecord, ...]]:
    """The winners of each workload that has any."""
    found: dict[str, list[BestRecord]] = {}
    for part in chunks(list(dict.fromkeys(workload_keys))):
        for row in connection.execute(_BESTS, {"keys": list(part)}):
            found.setdefault(row.workload_key, []).append(best_of(row))
    return {key: tuple(winners) for key, winners in found.items()}


_STAMPS: Query = (
    select(BestRow.workload_key, BestRow.target_key, BestRow.toolchain_key, BestRow.measured_at)
    .where(BestRow.workload_key.in_(bindparam("keys", expanding=True)))
    .order_by(BestRow.workload_key, BestRow.target_key, BestRow.toolchain_key)
)


def load_stamps(connection: Connection, workload_keys: Sequence[str]) -> dict[str, Stamps]:
    """What tells the winners of each workload from all others; none for those without any."""
    found: dict[str, list[Stamp]] = {}
    for part in chunks(list(dict.fromkeys(workload_keys))):
        for key, *stamp in connection.execute(_STAMPS, {"keys": list(part)}):
            found.setdefault(key, []).append((stamp[0], stamp[1], stamp[2]))
    return {key: tuple(stamps) for key, stamps in found.items()}


_SIZES: Query = (
    select(BestRow.trial_id, BestRow.log2_size, BestRow.workload_key)
    .where(BestRow.family_key == bindparam("family"))
    .limit(bindparam("most"))
)
_LARGER: Query = _SIZES.where(BestRow.log2_size >= bindparam("size")).order_by(
    BestRow.log2_size, BestRow.workload_key
)
_SMALLER: Query = _SIZES.where(BestRow.log2_size < bindparam("size")).order_by(
    BestRow.log2_size.desc(), BestRow.workload_key.desc()
)
_RELATIVES: Query = (
    select_best()
    .add_columns(WorkloadRow.text, BestRow.trial_id)
    .join(WorkloadRow, WorkloadRow.key == BestRow.workload_key)
    .where(BestRow.trial_id.in_(bindparam("trials", expanding=True)))
)


def load_family_best(
    connection: Connection, family_key: str, size: float, limit: int
) -> tuple[Relative, ...]:
    """Nearest in size first: an index is read on either side until there are enough, then the winners found."""
    wanted = {"family": family_key, "size": size, "most": limit}
    sizes = [row for side in (_LARGER, _SMALLER) for row in connection.execute(side, wanted)]
    sizes.sort(key=lambda row: (abs(row.log2_size - size), row.workload_key))
    nearest = [row.trial_id for row in sizes[:limit]]
    found: dict[int, Relative] = {}
    for part in chunks(nearest):
        for row in connection.execute(_RELATIVES, {"trials": list(part)}):
            found[row.trial_id] = Relative(best_of(row), row.text)
    return tuple(found[row] for row in nearest if row in found)
