"""Tile a stage as a nest of its own, alone or with its elementwise consumer.

    c[i, j] = sum over k ..;  d[i, j] = f(c[i, j])
->  register:  d[i, j] = f(accumulator)                      at the end of each register block
    tile:      c of a task in scratch, then d of that task   at the end of each task
    apart:     c in memory, then a nest for d

`TileWithConsumer` offers the first two where a single elementwise consumer stands open or alone; `Tile` the last.
"""

from __future__ import annotations

from dataclasses import replace

from autosched.sketch.analysis import is_elementwise_of
from autosched.sketch.plan import Plan, StagePlan
from autosched.sketch.rules.rule import SKIP, Answer, Context
from autosched.sketch.rules.structure import plain_vectors, structures
from autosched.te.workload import Stage


class TileWithConsumer:
    name = "tile_with_consumer"
    version = 1

    def apply(self, context: Context) -> Answer:
        consumer = _fusible_consumer(context)
        if consumer is None:
            return SKIP
        stage = context.stage
        plans: list[Plan] = []
        for structure in structures(stage):
            for level in ("register", "tile"):
                plans.append(self._fused(context, stage, consumer, structure, level))
        return Answer("commit", tuple(plans))

    def _fused(
        self, context: Context, stage: Stage, consumer: Stage, structure: StagePlan, level: str
    ) -> Plan:
        vector = plain_vectors(consumer)[0]
        if level == "register":
            changes = {
                stage.name: replace(structure, placement="root"),
                consumer.name: StagePlan("register", group=stage.name, vector=vector),
            }
        else:
            changes = {
                stage.name: replace(structure, placement="tile", group=stage.name),
                consumer.name: StagePlan("tile", group=stage.name, vector=vector),
            }
        return context.planned(self, changes, {"level": level, **_arguments(structure)})


class Tile:
    name = "tile"
    version = 1

    def apply(self, context: Context) -> Answer:
        stage = context.stage
        plans = [
            context.planned(self, {stage.name: replace(s, placement="root")}, _arguments(s))
            for s in structures(stage)
        ]
        return Answer("commit", tuple(plans))


def _fusible_consumer(context: Context) -> Stage | None:
    """The single reader of a reducing stage if it is elementwise, planned as a nest of its own so far."""
    stage, workload = context.stage, context.workload
    if not stage.is_reduction or workload.is_output(stage):
        return None
    readers = [r for r in workload.readers(stage) if context.plan[r.name].placement != "inline"]
    if len(readers) != 1 or context.plan[readers[0].name].placement != "root":
        return None
    return readers[0] if is_elementwise_of(readers[0], stage) else None


def _arguments(structure: StagePlan) -> dict[str, object]:
    """The structure as named arguments of a step."""
    packs = [f"{p.operand}:{p.position}:{p.mode}" for p in structure.packs]
    return {"vector": structure.vector, "hoist": structure.hoist, "packs": packs}
