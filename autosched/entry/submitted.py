"""Work as a database keeps it: tasks whose every part is text, and the subjects made of them again.

    Work  --submitted_tasks-->  TaskSpec(name, key, canonical te, weight, reference)  --subjects_of-->  Subject

A reference says as JSON what kernels are checked against: `{"graph": GRAPH_JSON}`, the unfused subgraph with its weights
as inputs, or `{"case": "C2D/3@1"}`, a case of the suite. The empty text is the workload's own meaning in float64.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autosched.entry.work import Work, case_reference, graph_reference
from autosched.errors import InvalidInput
from autosched.graph.graph import Graph
from autosched.graph.importers.json import export_json, import_json
from autosched.ops.suite import suite_case
from autosched.records.store import TaskSpec
from autosched.te.parser import parse_workload
from autosched.te.workload import canonical_text
from autosched.tuning.check import Reference
from autosched.tuning.roofline import operations
from autosched.tuning.task import Subject

STORED_BYTES = 64 << 10
"""What the constants that steer a subgraph's operators (axes, shapes, tables) may take to be stored with it."""


def submitted_tasks(work: Work) -> tuple[TaskSpec, ...]:
    """The tasks of a work in the order of its subjects."""
    return tuple(
        replace(s.to_spec(canonical_text(s.workload)), reference=_reference_text(work, s))
        for s in work.subjects
    )


def subjects_of(tasks: Sequence[TaskSpec]) -> tuple[Subject, ...]:
    """The subjects of stored tasks, in order. InvalidInput names a task whose text or reference is damaged."""
    return tuple(_subject(task) for task in tasks)


def _reference_text(work: Work, subject: Subject) -> str:
    if work.partition is not None:
        subgraph = work.partition.task(subject.workload.key).subgraph
        return _graph_text(subgraph) if _is_small(subgraph) else ""
    return json.dumps({"case": subject.name}) if subject.reference is not None else ""


def _graph_text(subgraph: Graph) -> str:
    return f'{{"graph":{export_json(subgraph)}}}'


def _is_small(subgraph: Graph) -> bool:
    stored: int = sum(array.nbytes for array in subgraph.constants.values())
    return stored <= STORED_BYTES


def _subject(task: TaskSpec) -> Subject:
    workload = parse_workload(task.workload_text, task.name)
    if workload.key != task.workload_key:
        raise InvalidInput(
            f"task {task.name!r}: its text has the key {workload.key}, not {task.workload_key}"
        )
    reference = _reference(task)
    return Subject(task.name, workload, task.weight, reference, operations(workload))


def _reference(task: TaskSpec) -> Reference | None:
    if not task.reference:
        return None
    match _parsed(task):
        case {"graph": dict(document)}:
            return graph_reference(import_json(json.dumps(document)))
        case {"case": str(name)}:
            return case_reference(suite_case(name))
    raise InvalidInput(f"task {task.name!r}: its reference is neither a graph nor a case")


def _parsed(task: TaskSpec) -> Any:
    try:
        return json.loads(task.reference)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"task {task.name!r}: its reference is not JSON: {error}") from None
