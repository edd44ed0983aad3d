"""Split a reduction over the tasks, with a second pass, where there is too little spatial parallelism.

    s = sum over k ..   ->   s.part[c] = sum over chunk c ..;  s = sum over c of s.part[c]

Condition: fewer spatial elements than sixteen a thread, and a reduction axis long enough to cut.
"""

from __future__ import annotations

from math import prod

from autosched.sketch.lower.space import largest
from autosched.sketch.plan import StagePlan
from autosched.sketch.rules.rule import SKIP, Answer, Context
from autosched.sketch.rules.structure import plain_vectors

ELEMENTS_PER_THREAD = 16
SHORTEST = 512
"""A reduction axis below this is not worth a second pass."""


class SplitReduction:
    name = "split_reduction"
    version = 1

    def apply(self, context: Context) -> Answer:
        stage = context.stage
        if not stage.is_reduction:
            return SKIP
        elements = prod(largest(a.extent) for a in stage.axes)
        if elements > ELEMENTS_PER_THREAD * context.target.threads:
            return SKIP
        longest = max(stage.reduce_axes, key=lambda a: largest(a.extent))
        if largest(longest.extent) < SHORTEST:
            return SKIP
        plans = tuple(
            context.planned(
                self,
                {stage.name: StagePlan("root", vector=vector, split=longest.name)},
                {"axis": longest.name, "vector": vector},
            )
            for vector in plain_vectors(stage)
        )
        return Answer("try", plans)
