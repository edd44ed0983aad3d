"""A source as what there is to tune: subjects, and the plan that runs them if there is a graph."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autosched.errors import InvalidInput
from autosched.graph.graph import Graph, TensorType
from autosched.graph.importers.json import export_json
from autosched.graph.limits import DEFAULT_LIMITS, ImportLimits, check_size
from autosched.graph.partition.cut import partition
from autosched.graph.partition.plan import Call, GraphTask, Partition, Plan
from autosched.graph.passes.pipeline import passes_within, simplify
from autosched.graph.reference import reference_outputs
from autosched.graph.source import ModelSource, load_source
from autosched.measure.protocol import Array
from autosched.ops.suite import Case
from autosched.te.canonical import canonical
from autosched.te.dtype import is_float
from autosched.te.workload import Workload, canonical_text, stage_tensors
from autosched.tuning.check import Reference
from autosched.tuning.roofline import operations
from autosched.tuning.task import Subject

AnySource = str | ModelSource | Graph | Workload
"""A SOURCE of the command line, a model that was read, an imported graph, or a computation of the user's own."""


@dataclass(frozen=True, eq=False)
class Work:
    """`key` is the digest of what was imported. `relative`: the subjects are cases of their own, not one graph. Empty
    workloads (a dimension of size 0) are no subjects: they are answered without a kernel."""

    name: str
    key: str
    subjects: tuple[Subject, ...]
    plan: Plan
    partition: Partition | None = None
    model: ModelSource | None = None

    @property
    def relative(self) -> bool:
        return self.partition is None

    @property
    def weights_are_inputs(self) -> bool:
        """Constants of single workloads have no data: whoever runs them hands them in."""
        return self.partition is None


def work_of(source: AnySource, limits: ImportLimits = DEFAULT_LIMITS) -> Work:
    """Reads, simplifies and partitions a source; InvalidInput names what is wrong with it."""
    if isinstance(source, Workload):
        _check_sizes(source)
        return _workloads_work(source.name, [Written(source.name, source)])
    if isinstance(source, Graph):
        cut = _cut(source, limits)
        return _graph_work("graph", export_json(source).encode(), cut)
    loaded = source if isinstance(source, ModelSource) else load_source(source, limits=limits)
    if isinstance(loaded, ModelSource):
        return _graph_work(loaded.name, loaded.data, _cut(loaded.graph, limits), loaded)
    cases = [Written(c.name, c.workload(), case_reference(c)) for c in loaded.cases]
    return _workloads_work(loaded.name, cases)


TIMES_HELD = 8
"""How often the tensors of a task are in memory while it is tuned: three input sets, what is expected of each in
float64, and the values on the way there."""


def check_task_bytes(work: Work, most: int) -> None:
    """InvalidInput names a task whose tensors, those on its way included, take more than `most` bytes, and the largest
    of them: what a kernel of it has to give could not be computed."""
    for subject in work.subjects:
        workload = subject.workload
        tensors = (*workload.inputs, *(t for s in workload.stages for t in stage_tensors(s)))
        n_bytes = sum(t.n_bytes for t in tensors)
        if n_bytes > most:
            largest = max(tensors, key=lambda t: t.n_bytes)
            name = _names_in_plan(work.plan, workload).get(largest.name, largest.name)
            kind = TensorType(largest.static_shape, largest.dtype)
            raise InvalidInput(
                f"task {subject.name!r} takes {n_bytes} bytes, tensor {name!r} ({kind}) alone "
                f"{largest.n_bytes}: at most {most} bytes of tensors are tuned"
            )


def _names_in_plan(plan: Plan, workload: Workload) -> dict[str, str]:
    """What the first call of a workload calls its tensors, by their names in it."""
    call = next((c for c in plan.calls if c.workload_key == workload.key), None)
    if call is None:
        return {}
    theirs = (*call.inputs, *call.outputs)
    return {t.name: n for t, n in zip((*workload.inputs, *workload.outputs), theirs, strict=False)}


def _check_sizes(workload: Workload) -> None:
    """InvalidInput where a workload of the user's own computes nothing, or has a size that is none."""
    if not workload.stages:
        raise InvalidInput(f"workload {workload.name!r} computes nothing: it has no stage")
    for tensor in (*workload.inputs, *(t for s in workload.stages for t in stage_tensors(s))):
        for position, extent in enumerate(tensor.shape):
            if not extent.is_constant:
                raise InvalidInput(
                    f"workload {workload.name!r}, tensor {tensor.name!r}: dimension {position} is "
                    f"{extent!r}; give every dimension as a number"
                )
        check_size(tensor.name, TensorType(tensor.static_shape, tensor.dtype), DEFAULT_LIMITS)


@dataclass(frozen=True, eq=False)
class Written:
    """A workload as its author wrote it, before canonical form drops and merges dimensions."""

    name: str
    workload: Workload
    reference: Reference | None = None


def _cut(graph: Graph, limits: ImportLimits) -> Partition:
    return partition(simplify(graph, passes_within(limits)))


def _graph_work(name: str, data: bytes, cut: Partition, model: ModelSource | None = None) -> Work:
    subjects = tuple(_graph_subject(t) for t in cut.tasks if not _is_empty(t.workload))
    return Work(name, _digest(data), subjects, cut.plan, cut, model)


def _graph_subject(task: GraphTask) -> Subject:
    return Subject(
        task.name,
        task.workload,
        task.weight,
        graph_reference(task.subgraph),
        operations(task.workload),
    )


def graph_reference(subgraph: Graph) -> Reference:
    """The operators' own meaning of a task's unfused subgraph, floats in float64."""
    shapes = [subgraph.types[n].shape for n in subgraph.inputs]

    def compute(inputs: Sequence[Array]) -> Sequence[Array]:
        return reference_outputs(subgraph, _wide(inputs, shapes))

    return compute


def case_reference(case: Case) -> Reference:
    """The case's own NumPy meaning, in float64."""
    shapes = [t.static_shape for t in case.workload().inputs]
    return lambda inputs: [case.reference(tuple(_wide(inputs, shapes)))]


def _wide(inputs: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Inputs in the shapes that the reference expects, floats in float64."""
    shaped = [np.reshape(x, shape) for x, shape in zip(inputs, shapes, strict=True)]
    return [x.astype(np.float64) if is_float(x.dtype.name) else x for x in shaped]


def _workloads_work(name: str, written: Sequence[Written]) -> Work:
    subjects = []
    for one in written:
        workload = replace(canonical(one.workload), name=one.name)
        if not _is_empty(workload):
            count = operations(workload)
            subjects.append(Subject(one.name, workload, 1, one.reference, count))
    texts = "\n\n".join(canonical_text(s.workload) for s in subjects)
    plan = plan_of_workloads({w.name: w.workload for w in written})
    return Work(name, _digest(texts.encode()), tuple(subjects), plan)


def plan_of_workloads(workloads: dict[str, Workload]) -> Plan:
    """One call a workload; every input, constant ones too, is an input of the plan."""
    types: dict[str, TensorType] = {}
    calls: list[Call] = []
    prefix: Callable[[str, str], str] = (
        (lambda case, tensor: tensor) if len(workloads) == 1 else (lambda c, t: f"{c}:{t}")
    )
    for name, workload in workloads.items():
        for tensor in (*workload.inputs, *workload.outputs):
            types[prefix(name, tensor.name)] = TensorType(tensor.static_shape, tensor.dtype)
        inputs = tuple(prefix(name, t.name) for t in workload.inputs)
        outputs = tuple(prefix(name, t.name) for t in workload.outputs)
        calls.append(Call(canonical(workload).key, inputs, outputs, (name,)))
    return Plan(
        inputs=tuple(n for c in calls for n in c.inputs),
        outputs=tuple(n for c in calls for n in c.outputs),
        calls=tuple(calls),
        views={},
        types=types,
        constants={},
    )


def _is_empty(workload: Workload) -> bool:
    return all(t.elements == 0 for t in workload.outputs)


def _digest(data: bytes) -> str:
    return f"g1-{hashlib.sha256(data).hexdigest()[:32]}"
