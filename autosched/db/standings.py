"""What the trials of submitted jobs have brought so far, in SQL: by task, by failure, and one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Text, bindparam, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from autosched.db.chunks import chunks
from autosched.db.jobs import load_tasks
from autosched.db.rows import (
    IS_SEARCH_RUN,
    RUN_COLUMNS,
    Query,
    ResultRow,
    select_trials,
    timing_of,
    trial_of,
)
from autosched.db.schema import RunRow, TaskRow, TrialRow
from autosched.jobs.record import Failure, Page, TaskStanding
from autosched.records.outcome import Outcome
from autosched.records.record import Trial, split_trial_id, trial_id
from autosched.records.store import TaskSpec

NO_FAILURE = (Outcome.OK, Outcome.PRUNED)
KIND_CHARACTERS = 200

Counts = Counter[tuple[str, str | None]]
"""Trials by task and outcome, none for the open ones."""


class first_line(FunctionElement[str]):  # noqa: N801 - an SQL function, called like those of `func`
    """Of a text, without its line feed."""

    type = Text()
    inherit_cache = True


@compiles(first_line, "postgresql")
def _postgresql(element: Any, compiler: Any, **options: Any) -> str:
    text = compiler.process(element.clauses, **options)
    return f"split_part({text}, chr(10), 1)"


@compiles(first_line, "sqlite")
def _sqlite(element: Any, compiler: Any, **options: Any) -> str:
    text = compiler.process(element.clauses, **options)
    return f"substr({text}, 1, instr({text} || char(10), char(10)) - 1)"


def load_standings(
    connection: Connection, job_ids: Sequence[str]
) -> Mapping[str, tuple[TaskStanding, ...]]:
    found: dict[str, tuple[TaskStanding, ...]] = {}
    tasks = load_tasks(connection, job_ids)
    task_ids = [task_id for job in tasks.values() for task_id, _ in job]
    rows = _standing_rows(connection, task_ids)
    counts = _count_outcomes(connection, task_ids)
    for job_id in job_ids:
        mine = tasks.get(job_id, ())
        found[job_id] = tuple(_standing_of(rows[i], spec, counts) for i, spec in mine)
    return found


def _standing_rows(connection: Connection, task_ids: Sequence[str]) -> dict[str, ResultRow]:
    """By task: its columns, and the run and trial that won its last side-by-side run."""
    wanted = (
        select(
            TaskRow.id,
            TaskRow.operations,
            TaskRow.bound_seconds,
            TaskRow.default_seconds,
            TaskRow.forgotten,
            TrialRow.task_id.label("best_task_id"),
            TrialRow.number.label("best_number"),
            *RUN_COLUMNS,
        )
        .outerjoin(RunRow, RunRow.id == TaskRow.best_run_id)
        .outerjoin(TrialRow, TrialRow.id == RunRow.trial_id)
    )
    found: dict[str, ResultRow] = {}
    for part in chunks(task_ids):
        rows = connection.execute(wanted.where(TaskRow.id.in_(part)))
        found.update((row.id, row) for row in rows)
    return found


def _count_outcomes(connection: Connection, task_ids: Sequence[str]) -> Counts:
    """All trials but the defaults, which are fetched to be taken off: an index holds the rest."""
    counts: Counts = Counter()
    for part in chunks(task_ids):
        of_part = TrialRow.task_id.in_(part)
        every = select(TrialRow.task_id, TrialRow.outcome, func.count()).where(of_part)
        for task_id, outcome, n in connection.execute(
            every.group_by(TrialRow.task_id, TrialRow.outcome)
        ):
            counts[task_id, outcome] += n
        defaults = select(TrialRow.task_id, TrialRow.outcome).where(of_part, TrialRow.number == 0)
        for task_id, outcome in connection.execute(defaults):
            counts[task_id, outcome] -= 1
    return counts


def _standing_of(row: ResultRow, spec: TaskSpec, counts: Counts) -> TaskStanding:
    kept = {o: counts[row.id, o.value] + row.forgotten.get(o.value, 0) for o in Outcome}
    outcomes = {outcome: n for outcome, n in kept.items() if n}
    return TaskStanding(
        task_id=row.id,
        spec=spec,
        outcomes=outcomes,
        open_trials=counts[row.id, None],
        default_seconds=row.default_seconds,
        best=timing_of(row),
        trial=None if row.best_task_id is None else trial_id(row.best_task_id, row.best_number),
        operations=row.operations,
        bound_seconds=row.bound_seconds,
    )


def spent_trials(connection: Connection, job_id: str) -> int:
    """What the trials of a job have taken of its budget: all that are there, open ones too, but defaults and pruned."""
    wanted = (
        select(func.count())
        .select_from(TrialRow)
        .join(TaskRow, TaskRow.id == TrialRow.task_id)
        .where(TaskRow.job_id == job_id, TrialRow.number > 0)
        .where(func.coalesce(TrialRow.outcome, "") != Outcome.PRUNED.value)
    )
    return connection.scalar(wanted) or 0


def has_forgotten(connection: Connection, job_id: str) -> bool:
    """Whether some trials of a job are no longer there."""
    return any(connection.scalars(select(TaskRow.forgotten).where(TaskRow.job_id == job_id)))


def load_failures(connection: Connection, job_id: str, limit: int) -> tuple[Failure, ...]:
    """Most frequent first; of those alike, the first trial is the example."""
    counts: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], int] = {}
    for part in chunks(_task_ids(connection, job_id)):
        for outcome, kind, n, first in connection.execute(_select_failures(part)):
            counts[outcome, kind] += n
            example[outcome, kind] = min(first, example.get((outcome, kind), first))
    most = sorted(counts, key=lambda key: (-counts[key], key))[:limit]
    shown = _load_examples(connection, [example[key] for key in most])
    return tuple(
        Failure(Outcome(key[0]), key[1], counts[key], *shown[example[key]]) for key in most
    )


def _select_failures(task_ids: Sequence[str]) -> Any:
    kind = func.substr(first_line(RunRow.error), 1, KIND_CHARACTERS)
    return (
        select(TrialRow.outcome, kind, func.count(), func.min(TrialRow.id))
        .join(RunRow, IS_SEARCH_RUN)
        .where(TrialRow.task_id.in_(task_ids))
        .where(TrialRow.outcome.in_([o.value for o in Outcome if o not in NO_FAILURE]))
        .group_by(TrialRow.outcome, kind)
    )


def _load_examples(connection: Connection, rows: Iterable[int]) -> dict[int, tuple[str, str]]:
    """The id and the log of each trial."""
    wanted = (
        select(TrialRow.id, TrialRow.task_id, TrialRow.number, RunRow.log)
        .join(RunRow, IS_SEARCH_RUN)
        .where(TrialRow.id.in_(list(rows)))
    )
    return {
        row.id: (trial_id(row.task_id, row.number), row.log) for row in connection.execute(wanted)
    }


_TRIALS_AFTER: Query = (
    select_trials()
    .where(TrialRow.task_id == bindparam("task"), TrialRow.number > bindparam("after"))
    .order_by(TrialRow.number)
    .limit(bindparam("most"))
)


def list_trials(connection: Connection, job_id: str, page: Page) -> tuple[Trial, ...]:
    """By task and number, a task at a time, so that a page costs the same wherever it is."""
    last_task, last_number = split_trial_id(page.after or "") or ("", -1)
    tasks = _task_ids(connection, job_id)
    start = tasks.index(last_task) if last_task in tasks else 0
    found: list[Trial] = []
    for task_id in tasks[start:]:
        after = last_number if task_id == last_task else -1
        wanted = {"task": task_id, "after": after, "most": page.limit - len(found)}
        found += map(trial_of, connection.execute(_TRIALS_AFTER, wanted))
        if len(found) >= page.limit:
            break
    return tuple(found)


def _task_ids(connection: Connection, job_id: str) -> list[str]:
    wanted = select(TaskRow.id).where(TaskRow.job_id == job_id).order_by(TaskRow.position)
    return list(connection.scalars(wanted))
