"""Ansor's own CPU rules (Zheng et al., OSDI 2020, section 4.1; the conditions of its released implementation).

They exist to compare spaces: run alone they give Ansor's published sketch counts. Its multi-level tiling is ours with
nothing packed; its cache write is a local copy of the result, finished at register or tile level (its fusion levels 2
and 1); its rfactor is a split reduction whose partial results run along vectors over space or over the reduction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Literal

from autosched.sketch.analysis import has_branch, is_elementwise_of
from autosched.sketch.lower.space import largest
from autosched.sketch.lower.split import LOCAL
from autosched.sketch.plan import Plan, StagePlan
from autosched.sketch.rules.rule import SKIP, Answer, Context
from autosched.sketch.rules.structure import plain_vectors, reuse_vectors
from autosched.te.expr import Expr, Load, Unary
from autosched.te.integer import Int, symbols
from autosched.te.interval import linear
from autosched.te.workload import Stage

LEVELS: tuple[Literal["register", "tile"], ...] = ("register", "tile")
TASKS_A_CORE = 16


def _reads_simply(stage: Stage, load: Load) -> bool:
    """Every index a constant, or one axis of the stage plus a constant, axes in order and none twice."""
    order = [a.symbol for a in stage.axes]
    seen: list[int] = []
    for index in load.indices:
        terms, _ = linear(index)
        if not terms:
            continue
        if list(terms.values()) != [1] or next(iter(terms)) not in order:
            return False
        seen.append(order.index(next(iter(terms))))
    return seen == sorted(set(seen))


def _calls_exp(expression: Expr) -> bool:
    own = isinstance(expression, Unary) and expression.op == "exp"
    return own or any(_calls_exp(o) for o in expression.operands)


def is_strictly_inlineable(stage: Stage) -> bool:
    """Simple reads in order, no branch, no exp."""
    return not any(has_branch(v) or _calls_exp(v) for v in stage.values) and all(
        _reads_simply(stage, load) for load in stage.loads
    )


def needs_multi_level_tiling(stage: Stage) -> bool:
    """At least two sources, or one if the stage reduces, are read without some spatial axis of extent over 1."""
    axes = {a.symbol for a in stage.axes if largest(a.extent) > 1}
    used: dict[int, set[Int]] = {}
    for load in stage.loads:
        found = used.setdefault(id(load.source), set())
        for index in load.indices:
            found |= symbols(index)
    count = sum(1 for found in used.values() if axes - found)
    return count >= (1 if stage.is_reduction else 2)


class AnsorInline:
    """Inline every strictly inlineable stage that is no output and reduces nothing."""

    name = "ansor_inline"
    version = 1

    def apply(self, context: Context) -> Answer:
        stage = context.stage
        if stage.is_reduction or context.workload.is_output(stage):
            return SKIP
        if not is_strictly_inlineable(stage):
            return SKIP
        return Answer("commit", (context.planned(self, {stage.name: StagePlan("inline")}, {}),))


class AnsorRfactor:
    """Split a reduction with too little space around it; two sketches, vectors over space or over the reduction."""

    name = "ansor_rfactor"
    version = 1

    def apply(self, context: Context) -> Answer:
        stage, cores = context.stage, context.target.threads
        if not stage.is_reduction:
            return SKIP
        space = prod(largest(a.extent) for a in stage.axes)
        length = prod(largest(a.extent) for a in stage.reduce_axes)
        if needs_multi_level_tiling(context.written):
            wanted = not (space > length or space > cores * TASKS_A_CORE)
        else:
            wanted = length > max(cores, 1)
        if not wanted:
            return SKIP
        axis = max(stage.reduce_axes, key=lambda a: largest(a.extent)).name
        plans = tuple(
            context.planned(
                self, {stage.name: StagePlan("root", vector=v, split=axis)}, {"vector": v}
            )
            for v in ("", axis)
        )
        return Answer("try", plans)


class AnsorCacheWrite:
    """A local copy of a tiled stage that no single elementwise consumer follows, fused at both levels."""

    name = "ansor_cache_write"
    version = 1

    def apply(self, context: Context) -> Answer:
        stage = context.stage
        if not needs_multi_level_tiling(context.written) or _consumer(context) is not None:
            return SKIP
        vector = _vector(stage)
        plans = tuple(
            context.planned(
                self,
                {stage.name: StagePlan(level, stage.name + LOCAL, vector, cached=True)},
                {"level": level},
            )
            for level in LEVELS
        )
        return Answer("try", plans)


class AnsorTileWithConsumer:
    """Multi-level tiling with the single elementwise consumer fused at both levels."""

    name = "ansor_tile_with_consumer"
    version = 1

    def apply(self, context: Context) -> Answer:
        consumer = _consumer(context)
        if consumer is None or not needs_multi_level_tiling(context.written):
            return SKIP
        return Answer("try", tuple(self._fused(context, consumer, level) for level in LEVELS))

    def _fused(self, context: Context, consumer: Stage, level: Literal["register", "tile"]) -> Plan:
        stage, vector = context.stage, _vector(context.stage)
        own = StagePlan("root" if level == "register" else "tile", stage.name, vector)
        changes: Mapping[str, StagePlan] = {
            stage.name: replace(own, group="" if level == "register" else stage.name),
            consumer.name: StagePlan(level, stage.name, plain_vectors(consumer)[0]),
        }
        return context.planned(self, changes, {"level": level})


class AnsorTile:
    """Multi-level tiling alone; any other stage is left as it is."""

    name = "ansor_tile"
    version = 1

    def apply(self, context: Context) -> Answer:
        stage = context.stage
        plan = StagePlan("root", vector=_vector(stage))
        return Answer("commit", (context.planned(self, {stage.name: plan}, {}),))


def _vector(stage: Stage) -> str:
    return (reuse_vectors(stage) if stage.is_reduction and stage.axes else plain_vectors(stage))[0]


def _consumer(context: Context) -> Stage | None:
    """The single reader of the stage if it is elementwise, and not both reduce."""
    readers = context.workload.readers(context.stage)
    if len(readers) != 1 or not is_elementwise_of(readers[0], context.stage):
        return None
    return readers[0] if context.plan[readers[0].name].placement == "root" else None
