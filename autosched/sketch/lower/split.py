"""Stages added on te before lowering: a second pass of a reduction, a local copy of a result.

    s[i] = sum over k < K of f(i, k)
->  s.part[c, i] = sum over k in chunk c of f(i, k)          c < ceil(K / chunk)
    s[i] = sum over c of s.part[c, i]

    c[i, j] = sum over k of f(i, j, k)
->  c.local[i, j] = sum over k of f(i, j, k);   c[i, j] = c.local[i, j]

The first is legal for any combiner (they are associative and commutative), its chunk a decision, the number of chunks
what follows; the second always.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autosched.te.expr import Expr, Load, cast, transform
from autosched.te.integer import Int, ceil_div, symbol
from autosched.te.workload import Axis, Stage, Tensor, Workload, stage_tensors

PART = ".part"
LOCAL = ".local"


@dataclass(frozen=True, eq=False)
class Chunk:
    """Axis `chunk_axis` of the partial stage counts chunks of `length` along its reduction axis `axis`."""

    chunk_axis: Int
    axis: Int
    length: Int


def split_reduction(
    workload: Workload, name: str, axis_name: str, length: Int
) -> tuple[Workload, Chunk]:
    """The workload with stage `name` reduced in chunks of `length` along one axis."""
    chunks: list[Chunk] = []

    def in_two_passes(stage: Stage) -> Stage:
        whole, chunk = _in_two_passes(stage, axis_name, length)
        chunks.append(chunk)
        return whole

    changed = _with_stage(workload, name, in_two_passes)
    return changed, chunks[0]


def cache_write(workload: Workload, name: str) -> Workload:
    """The workload with stage `name` computed in a local copy first."""
    return _with_stage(workload, name, _through_local)


def _with_stage(workload: Workload, name: str, change: Callable[[Stage], Stage]) -> Workload:
    """The workload with one stage replaced by `change(stage)`, and every load led to the new stages."""
    tensors: dict[tuple[int, int], Tensor] = {}

    def leaf(node: Expr) -> Expr:
        if isinstance(node, Load) and isinstance(node.source, Tensor) and node.source.stage:
            return Load(tensors[id(node.source.stage), node.source.component], node.indices)
        return node

    for stage in workload.stages:
        values = tuple(transform(v, leaf) for v in stage.values)
        new = Stage(stage.name, stage.axes, values, stage.dtypes, stage.reduce_axes, stage.combiner)
        if stage.name == name:
            new = change(new)
        for i, tensor in enumerate(stage_tensors(new)):
            tensors[id(stage), i] = tensor
    outputs = tuple(
        t if t.stage is None else tensors[id(t.stage), t.component] for t in workload.outputs
    )
    return Workload(workload.name, workload.inputs, outputs)


def _through_local(stage: Stage) -> Stage:
    accumulators = tuple(v.dtype for v in stage.values)
    local = Stage(
        stage.name + LOCAL,
        stage.axes,
        stage.values,
        accumulators,
        stage.reduce_axes,
        stage.combiner,
    )
    at = tuple(a.symbol for a in stage.axes)
    values = tuple(
        cast(d, Load(t, at)) for d, t in zip(stage.dtypes, stage_tensors(local), strict=True)
    )
    return Stage(stage.name, stage.axes, values, stage.dtypes)


def _in_two_passes(stage: Stage, axis_name: str, length: Int) -> tuple[Stage, Chunk]:
    (cut,) = (a for a in stage.reduce_axes if a.name == axis_name)
    chunks = Axis(symbol(f"{axis_name}.c", "index"), ceil_div(cut.extent, length))
    accumulators = tuple(v.dtype for v in stage.values)
    part = Stage(
        stage.name + PART,
        (chunks, *stage.axes),
        stage.values,
        accumulators,
        stage.reduce_axes,
        stage.combiner,
    )
    at = (chunks.symbol, *(a.symbol for a in stage.axes))
    values = tuple(Load(t, at) for t in stage_tensors(part))
    whole = Stage(stage.name, stage.axes, values, stage.dtypes, (chunks,), stage.combiner)
    return whole, Chunk(chunks.symbol, cut.symbol, length)
