"""The canonical form of a workload: one form, hence one key, however the computation was written.

Copies are read through, axes of extent 1 dropped, adjacent axes merged or split, expressions normalized,
equal stages shared, unused ones dropped, and all is named by position. Each pass rewrites the whole
workload; they repeat until nothing changes.
"""

from __future__ import annotations

from dataclasses import replace

from autosched.te.copies import without_copies
from autosched.te.expr import substitute_indices
from autosched.te.index_form import axis_ranges
from autosched.te.integer import Int, symbol
from autosched.te.merge_axes import with_merged_axes
from autosched.te.rebuild import Rebuilt, finished, tensor_key
from autosched.te.scalar_form import simplified_expr
from autosched.te.split_axes import with_split_axes
from autosched.te.unit_axes import without_unit_axes
from autosched.te.workload import (
    Axis,
    Stage,
    Tensor,
    Workload,
    canonical_text,
    stage_tensors,
    stage_text,
)

PASSES = (without_copies, without_unit_axes, with_merged_axes, with_split_axes)
MAX_ROUNDS = 8


def canonical(workload: Workload) -> Workload:
    """The same computation in canonical form.

    Inputs and outputs keep their order and their elements, row by row; their shapes may lose unit
    dimensions and have others merged. Values change by the order of float sums alone.
    """
    workload = named(workload)
    text = canonical_text(workload)
    for _ in range(MAX_ROUNDS):
        for rewrite in PASSES:
            workload = named(rewrite(workload))
        previous, text = text, canonical_text(workload)
        if text == previous:
            break
    return workload


def named(workload: Workload) -> Workload:
    """Names by position (inputs in0.., stages s0.., axes i0.., reduction axes r0..), expressions in
    normal form, equal stages shared."""
    rebuilt = Rebuilt()
    for position, tensor in enumerate(workload.inputs):
        rebuilt.tensors[tensor_key(tensor)] = replace(tensor, name=f"in{position}")
    seen: dict[str, tuple[Tensor, ...]] = {}
    for old in workload.stages:
        stage = _named_stage(old, rebuilt)
        body = stage_text(replace(stage, name=""))
        if body not in seen:
            seen[body] = stage_tensors(replace(stage, name=f"s{len(seen)}"))
        rebuilt.add_stage(old, seen[body])
    return finished(workload, rebuilt)


def _named_stage(stage: Stage, rebuilt: Rebuilt) -> Stage:
    axes = _renamed(stage.axes, "i")
    reduce_axes = _renamed(_in_reading_order(stage), "r")
    names = {a.symbol: b.symbol for a, b in zip(stage.axes, axes, strict=True)}
    names |= {
        a.symbol: b.symbol for a, b in zip(_in_reading_order(stage), reduce_axes, strict=True)
    }
    ranges = axis_ranges((*axes, *reduce_axes))
    values = tuple(
        simplified_expr(rebuilt.value(substitute_indices(v, names)), ranges) for v in stage.values
    )
    return Stage(stage.name, axes, values, stage.dtypes, reduce_axes, stage.combiner)


def _renamed(axes: tuple[Axis, ...], letter: str) -> tuple[Axis, ...]:
    return tuple(Axis(symbol(f"{letter}{d}", "index"), a.extent) for d, a in enumerate(axes))


def _in_reading_order(stage: Stage) -> tuple[Axis, ...]:
    """Reduction axes as the loads meet them, since their order means nothing."""
    order: dict[Int, None] = {}
    by_symbol = {a.symbol: a for a in stage.reduce_axes}
    for load in stage.loads:
        for index in load.indices:
            order |= dict.fromkeys(s for s in _symbols_in_order(index) if s in by_symbol)
    order |= dict.fromkeys(by_symbol)
    return tuple(by_symbol[s] for s in order)


def _symbols_in_order(index: Int) -> tuple[Int, ...]:
    if index.is_symbol:
        return (index,)
    return tuple(s for a in index.args for s in _symbols_in_order(a))
