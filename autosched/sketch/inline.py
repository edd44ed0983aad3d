"""Inlining on te: the chosen stages vanish, their values stand where they were read.

    b[i] = a[i] + 1;  c[i] = b[i] * 2     ->     c[i] = (a[i] + 1) * 2

Legal for any stage without a reduction. The result is again a workload, with the other stages under their names.
"""

from __future__ import annotations

from functools import lru_cache

from autosched.te.expr import Expr, Load, cast, substitute_indices, transform
from autosched.te.workload import Stage, Tensor, Workload, stage_tensors


@lru_cache(maxsize=256)
def inlined(workload: Workload, names: frozenset[str]) -> Workload:
    """The workload with the named stages computed where they are read."""
    if not names:
        return workload
    replaced: dict[int, Stage] = {}
    tensors: dict[tuple[int, int], Tensor] = {}

    def leaf(node: Expr) -> Expr:
        if not isinstance(node, Load) or not isinstance(node.source, Tensor):
            return node
        source = node.source
        if source.stage is None:
            return node
        stage = replaced[id(source.stage)]
        if stage.name not in names:
            return Load(tensors[id(source.stage), source.component], node.indices)
        at = {a.symbol: i for a, i in zip(stage.axes, node.indices, strict=True)}
        return substitute_indices(cast(source.dtype, stage.values[source.component]), at)

    for stage in workload.stages:
        if stage.name in names and stage.is_reduction:
            raise ValueError(f"{stage.name} reduces and cannot be inlined")
        values = tuple(transform(v, leaf) for v in stage.values)
        new = Stage(stage.name, stage.axes, values, stage.dtypes, stage.reduce_axes, stage.combiner)
        replaced[id(stage)] = new
        for i, tensor in enumerate(stage_tensors(new)):
            tensors[id(stage), i] = tensor
    outputs = tuple(
        t if t.stage is None else tensors[id(t.stage), t.component] for t in workload.outputs
    )
    return Workload(workload.name, workload.inputs, outputs)
