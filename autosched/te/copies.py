"""Copies taken away: a stage that only moves elements is read through, wherever that is legal.

t[i, j] = x[j, i];  y[i, j] = t[i, j] + 1   ->   y[i, j] = x[j, i] + 1
y[i] = s[i / 4, i % 4], an output           ->   s is the output: same memory
"""

from __future__ import annotations

from math import prod

from autosched.te.expr import Expr, Load
from autosched.te.index_form import axis_ranges, simplified
from autosched.te.integer import Int, as_int, substitute
from autosched.te.rebuild import Rebuilt, finished, tensor_key
from autosched.te.workload import Stage, Tensor, Workload, stage_tensors


def without_copies(workload: Workload) -> Workload:
    """The workload with pure copies inlined.

    A copy that is an output stays, unless it is a view of a stage's tensor.
    """
    workload = _outputs_through_views(workload)
    rebuilt = Rebuilt({tensor_key(t): t for t in workload.inputs})
    moved: dict[int, Load] = {}

    def rule(load: Load, source: Tensor) -> Expr:
        copy = moved.get(id(source.stage)) if source.stage is not None else None
        if copy is None or source.stage is None:
            return Load(source, load.indices)
        return _read_through(source.stage, copy, load.indices)

    for old in workload.stages:
        values = tuple(rebuilt.value(v, rule) for v in old.values)
        new = Stage(old.name, old.axes, values, old.dtypes, old.reduce_axes, old.combiner)
        rebuilt.add_stage(old, stage_tensors(new))
        copy = copied(new)
        if copy is not None and not workload.is_output(old):
            moved[id(new)] = copy
    return finished(workload, rebuilt)


def copied(stage: Stage) -> Load | None:
    """The one load that a stage copies; None if it computes anything."""
    if stage.combiner is not None or len(stage.values) != 1:
        return None
    value = stage.values[0]
    return value if isinstance(value, Load) and value.dtype == stage.dtypes[0] else None


def _read_through(stage: Stage, copy: Load, indices: tuple[Int, ...]) -> Load:
    at = {axis.symbol: index for axis, index in zip(stage.axes, indices, strict=True)}
    return Load(copy.source, tuple(substitute(i, at) for i in copy.indices))


def _outputs_through_views(workload: Workload) -> Workload:
    """An output that only renames the memory of a stage's tensor becomes that tensor."""
    outputs: list[Tensor] = []
    taken = {tensor_key(t) for t in workload.outputs}
    for tensor in workload.outputs:
        source = tensor
        while (viewed := _viewed(source)) is not None and tensor_key(viewed) not in taken:
            taken.add(tensor_key(viewed))
            source = viewed
        outputs.append(source)
    return Workload(workload.name, workload.inputs, tuple(outputs))


def _viewed(tensor: Tensor) -> Tensor | None:
    """The stage's tensor whose elements these are, in the same order."""
    copy = copied(tensor.stage) if tensor.stage is not None else None
    if copy is None or tensor.stage is None or not isinstance(copy.source, Tensor):
        return None
    source = copy.source
    if source.stage is None or not _same_size(source.shape, tensor.shape):
        return None
    axes = tuple(a.symbol for a in tensor.stage.axes)
    ranges = axis_ranges(tensor.stage.axes)
    here = simplified(flat(axes, tensor.shape), ranges)
    return source if simplified(flat(copy.indices, source.shape), ranges) is here else None


def _same_size(a: tuple[Int, ...], b: tuple[Int, ...]) -> bool:
    if not all(e.is_constant for e in (*a, *b)):
        return False
    return prod(e.value for e in a) == prod(e.value for e in b)


def flat(indices: tuple[Int, ...], shape: tuple[Int, ...]) -> Int:
    """The row-major position of `indices` in `shape`."""
    position = as_int(0)
    for index, extent in zip(indices, shape, strict=True):
        position = position * extent + index
    return position
