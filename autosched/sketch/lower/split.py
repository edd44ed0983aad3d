"""Split reduction: a parallel reduction with a second pass.

    s[i] = sum over k < K of f(i, k)
->  s.part[c, i] = sum over k in chunk c of f(i, k)          c < ceil(K / chunk)
    s[i] = sum over c of s.part[c, i]

Legal for any combiner (they are associative and commutative). The chunk is a decision; the number of chunks follows.
"""

from __future__ import annotations

from dataclasses import dataclass

from autosched.te.expr import Expr, Load, transform
from autosched.te.integer import Int, ceil_div, symbol
from autosched.te.workload import Axis, Stage, Tensor, Workload, stage_tensors

PART = ".part"


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
    chunk: Chunk | None = None
    new_tensors: dict[tuple[int, int], Tensor] = {}

    def leaf(node: Expr) -> Expr:
        if isinstance(node, Load) and isinstance(node.source, Tensor) and node.source.stage:
            return Load(new_tensors[id(node.source.stage), node.source.component], node.indices)
        return node

    for stage in workload.stages:
        values = tuple(transform(v, leaf) for v in stage.values)
        new = Stage(stage.name, stage.axes, values, stage.dtypes, stage.reduce_axes, stage.combiner)
        if stage.name == name:
            new, chunk = _in_two_passes(new, axis_name, length)
        for i, tensor in enumerate(stage_tensors(new)):
            new_tensors[id(stage), i] = tensor
    if chunk is None:
        raise KeyError(f"no stage {name!r}")
    outputs = tuple(
        t if t.stage is None else new_tensors[id(t.stage), t.component] for t in workload.outputs
    )
    return Workload(workload.name, workload.inputs, outputs), chunk


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
