"""A database as large as a busy year leaves it, made by the database itself in minutes.

    python -m tests.service.filling --db postgresql://... --trials 10000000 --workloads 100000

Every workload is one task, of jobs of `TASKS_A_JOB` tasks, with the same number of measured trials and one winner; all
are one family, which is the worst case for near shapes. On PostgreSQL indexes are dropped before and made anew.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Connection,
    Integer,
    String,
    case,
    cast,
    func,
    insert,
    literal,
    literal_column,
    select,
    text,
)

from autosched.db.engine import in_write, write
from autosched.db.rows import TIMING_NAMES, run_columns
from autosched.db.schema import BestRow, JobRow, RunRow, TaskRow, TrialRow, WorkloadRow
from autosched.db.store import SqlTuningStore, open_store
from autosched.db.winners import shape_columns
from autosched.records.identity import new_job_id
from autosched.records.record import task_id_of
from autosched.te.workload import text_key
from autosched.testing.records import (
    TARGET,
    TOOLCHAIN,
    TOOLCHAIN_KEY,
    candidate,
    job_spec,
    ok,
    workload_text,
)

TASKS_A_JOB = 20
OWNER = "filler"
FEATURES = 48
"""Numbers a trial; what the search keeps is longer, but no query depends on it."""


@dataclass(frozen=True)
class Filled:
    """What is there now: job ids in order, and the workloads, each with its task and a winner."""

    jobs: tuple[str, ...]
    task_ids: tuple[str, ...]
    workload_keys: tuple[str, ...]


def workload_texts(n: int) -> Iterator[str]:
    """Different ones of one family, of many sizes."""
    for i in range(n):
        yield workload_text(1 + i // 256, 1 + i % 256)


def fill(store: SqlTuningStore, *, trials: int, workloads: int) -> Filled:
    """Fill an empty database; `trials` is a multiple of `workloads`."""
    if trials % workloads:
        raise ValueError(f"{trials} trials are not the same number for each of {workloads} tasks")
    texts = list(workload_texts(workloads))
    keys = [text_key(t) for t in texts]
    jobs = [new_job_id() for _ in range(0, workloads, TASKS_A_JOB)]
    tasks = [task_id_of(jobs[i // TASKS_A_JOB], i % TASKS_A_JOB) for i in range(workloads)]
    store.open_job(job_spec(seed=-1), (), asdict(TARGET), TOOLCHAIN, ())
    in_write(
        store.engine, lambda c: _insert_tasks(c, jobs, tasks, list(zip(keys, texts, strict=True)))
    )
    constraints = _drop_indexes(store) if store.engine.dialect.name == "postgresql" else []
    with write(store.engine) as connection:
        if constraints:
            # With wal_level minimal, a table emptied here is not logged as it is filled.
            connection.execute(text("truncate trials cascade"))
        _insert_trials(connection, trials, trials // workloads)
        _insert_winners(connection, trials // workloads, dict(zip(keys, texts, strict=True)))
        if constraints:
            for table in ("trials", "measurements"):
                serial = f"pg_get_serial_sequence('{table}', 'id')"
                connection.execute(text(f"select setval({serial}, (select max(id) from {table}))"))
    for statement in constraints:
        with write(store.engine) as connection:
            connection.execute(text("set local maintenance_work_mem = '512MB'"))
            connection.exec_driver_sql(statement)
    if store.engine.dialect.name == "postgresql":  # which does it by itself, and SQLite never does
        with write(store.engine) as connection:
            connection.execute(text("analyze"))
    return Filled(tuple(jobs), tuple(tasks), tuple(keys))


def load_filled(store: SqlTuningStore) -> Filled:
    """What an earlier `fill` put there."""
    jobs = select(JobRow.id).where(JobRow.owner == OWNER).order_by(JobRow.id)
    tasks = select(TaskRow.id, TaskRow.workload_key).join(JobRow, JobRow.id == TaskRow.job_id)
    tasks = tasks.where(JobRow.owner == OWNER).order_by(TaskRow.id)
    with store.engine.begin() as connection:
        rows = connection.execute(tasks).all()
        found = connection.scalars(jobs).all()
    return Filled(tuple(found), tuple(r.id for r in rows), tuple(r.workload_key for r in rows))


def _insert_tasks(
    connection: Connection,
    jobs: Sequence[str],
    tasks: Sequence[str],
    workloads: Sequence[tuple[str, str]],
) -> None:
    now = datetime.now(UTC)
    spec = asdict(job_spec()) | {"seed": "0", "state": "succeeded", "end_reason": "trials"}
    ended = {"owner": OWNER, "created_at": now, "ended_at": now}
    _insert_all(connection, JobRow, [{**spec, **ended, "id": i, "spec_key": i} for i in jobs])
    shapes = [
        {"key": k, "text": t, "family_key": shape_columns(t)["family_key"]} for k, t in workloads
    ]
    _insert_all(connection, WorkloadRow, shapes)
    rows = [
        {
            "id": task_id,
            "job_id": jobs[i // TASKS_A_JOB],
            "position": i % TASKS_A_JOB,
            "name": f"rows{i}",
            "workload_key": workloads[i][0],
            "target_key": TARGET.key,
            "toolchain_key": TOOLCHAIN_KEY,
            "weight": 1,
        }
        for i, task_id in enumerate(tasks)
    ]
    _insert_all(connection, TaskRow, rows)


def _insert_all(connection: Connection, table: Any, rows: Sequence[dict[str, Any]]) -> None:
    for start in range(0, len(rows), 1_000):
        connection.execute(insert(table), rows[start : start + 1_000])


def _insert_trials(connection: Connection, trials: int, a_task: int) -> None:
    """Trial g of all is number g mod `a_task` of its task; one in eight crashed."""
    tasks = select(
        TaskRow.id,
        TaskRow.workload_key,
        (func.row_number().over(order_by=TaskRow.id) - 1).label("n"),
    ).where(TaskRow.name.like("rows%"))
    task = tasks.subquery("task")
    g = _numbers(connection, trials)
    number = g.c.g % a_task
    is_ok = (g.c.g % 8 != 7) | (number < 2)
    now = literal(datetime.now(UTC), TrialRow.proposed_at.type)
    columns = {
        "id": g.c.g + 1,
        "task_id": task.c.id,
        "number": number,
        "round": number // 16,
        "attempt": literal(1),
        "workload_key": task.c.workload_key,
        "target_key": literal(TARGET.key),
        "toolchain_key": literal(TOOLCHAIN_KEY),
        "candidate_key": _candidate_key(connection, g.c.g),
        "structure_key": literal(candidate("0").structure_key),
        "derivation": _json(connection, list(candidate("0").derivation)),
        "values": _json(connection, dict(candidate("0").values)),
        "space_version": literal("1"),
        "features": literal(tuple(0.5 * i for i in range(FEATURES)), TrialRow.features.type),
        "features_schema": literal("x1-test"),
        "outcome": case((is_ok, "ok"), else_="crashed"),
        "median_seconds": case((is_ok, (g.c.g % 97 + 3) * 1e-6)),
        "proposed_at": now,
        "closed_at": now,
    }
    found = select(*columns.values()).join_from(g, task, task.c.n == g.c.g // a_task)
    connection.execute(insert(TrialRow).from_select(list(columns), found))
    run = _run_columns(connection, "search")
    run |= {
        "id": TrialRow.id,
        "trial_id": TrialRow.id,
        "outcome": TrialRow.outcome,
        "median_seconds": TrialRow.median_seconds,
    }
    runs = select(*run.values())
    connection.execute(insert(RunRow).from_select(list(run), runs))


def _insert_winners(connection: Connection, a_task: int, texts: dict[str, str]) -> None:
    """Trial 1 of each task won against the default."""
    last = connection.scalar(select(func.max(RunRow.id))) or 0
    run = _run_columns(connection, "confirm")
    run |= {
        "id": TrialRow.id + last,
        "trial_id": TrialRow.id,
        "side_by_side": literal("i1-") + cast(TrialRow.id, String),
        "median_seconds": TrialRow.median_seconds,
    }
    won = TrialRow.number == min(1, a_task - 1)
    connection.execute(insert(RunRow).from_select(list(run), select(*run.values()).where(won)))
    winners = connection.execute(select(TrialRow.id, TrialRow.workload_key).where(won)).all()
    rows = [
        {
            "workload_key": key,
            "target_key": TARGET.key,
            "toolchain_key": TOOLCHAIN_KEY,
            "trial_id": row,
            "measurement_id": row + last,
            "space_version": "1",
            "source_digest": "k1-text",
            "default_seconds": 1e-4,
            "measured_at": datetime.now(UTC),
            **shape_columns(texts[key]),
        }
        for row, key in winners
    ]
    _insert_all(connection, BestRow, rows)


def _run_columns(connection: Connection, purpose: Any) -> dict[str, Any]:
    """Of a run that was ok, as literals."""
    columns = run_columns(purpose, ok(), datetime.now(UTC))
    types = RunRow.__table__.columns
    found = {name: literal(value, types[name].type) for name, value in columns.items()}
    assert set(TIMING_NAMES) <= set(found)
    return found | {"environment": _json(connection, {})}


def _numbers(connection: Connection, n: int) -> Any:
    """The column g of 0, 1, ... n - 1."""
    if connection.dialect.name == "postgresql":
        series = func.generate_series(0, n - 1).table_valued("g").render_derived()
        return select(cast(series.c.g, Integer).label("g")).subquery("numbers")
    first = select(literal(0).label("g")).cte("numbers", recursive=True)
    return first.union_all(select(first.c.g + 1).where(first.c.g < n - 1))


def _candidate_key(connection: Connection, number: Any) -> Any:
    """Spread over the whole range, as digests are."""
    if connection.dialect.name == "postgresql":
        return literal("n1-") + func.md5(cast(number, String))
    spread = (number * 0x9E3779B1) % 0x7FFFFFFF
    return func.printf("n1-%08x%08x", spread, number)


def _json(connection: Connection, value: Any) -> Any:
    quoted = json.dumps(value).replace("'", "''")
    text = literal_column(f"'{quoted}'")
    return cast(text, JSON) if connection.dialect.name == "postgresql" else text


def _drop_indexes(store: SqlTuningStore) -> list[str]:
    """Drop what slows the filling of trials and measurements; the statements that make it anew, keys first."""
    constraints = text(
        "select conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid)"
        " from pg_constraint where conrelid::regclass::text in ('trials', 'measurements')"
        " and contype in ('u', 'f') order by contype desc"
    )
    referring = text(
        "select conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid)"
        " from pg_constraint where confrelid::regclass::text in ('trials', 'measurements')"
        " and conrelid::regclass::text not in ('trials', 'measurements') and contype = 'f'"
    )
    indexes = text(
        "select i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) from pg_index i"
        " where i.indrelid::regclass::text in ('trials', 'measurements') and not i.indisprimary"
        " and not exists (select 1 from pg_constraint c where c.conindid = i.indexrelid)"
    )
    again: list[str] = []
    with write(store.engine) as connection:
        plain = connection.execute(indexes).all()
        named = [*connection.execute(constraints), *connection.execute(referring)]
        for table, name, _, definition in named[::-1]:
            connection.exec_driver_sql(f"alter table {table} drop constraint {name}")
            again.insert(0, f"alter table {table} add constraint {name} {definition}")
        for name, definition in plain:
            connection.exec_driver_sql(f"drop index {name}")
            again.append(definition)
    return again


def main() -> None:
    parser = argparse.ArgumentParser(description="Fill an empty database.")
    parser.add_argument("--db", required=True)
    parser.add_argument("--trials", type=int, default=10_000_000)
    parser.add_argument("--workloads", type=int, default=100_000)
    asked = parser.parse_args()
    with open_store(asked.db) as store:
        filled = fill(store, trials=asked.trials, workloads=asked.workloads)
    print(f"{len(filled.workload_keys)} workloads with {asked.trials} trials")


if __name__ == "__main__":
    main()
