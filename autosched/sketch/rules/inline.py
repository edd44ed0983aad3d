"""Inline a stage where it is read.

    b[i] = a[i] + 1;  c[i, j] = b[i] * d[j]      ->      c[i, j] = (a[i] + 1) * d[j]

Legal for a stage that reduces nothing and is no output. Cheap stages are always inlined; one that calls something
expensive and would be computed again at each use is inlined or kept, both are tried. An elementwise consumer of a reduction is
never inlined into a stage that reduces: it belongs to its producer's nest.
"""

from __future__ import annotations

from autosched.sketch.analysis import is_elementwise_of, is_expensive, reads_of
from autosched.sketch.plan import StagePlan
from autosched.sketch.rules.rule import SKIP, Answer, Context
from autosched.te.workload import Stage, Workload, producers


class Inline:
    name = "inline"
    version = 1

    def apply(self, context: Context) -> Answer:
        stage, workload = context.stage, context.workload
        if stage.is_reduction or workload.is_output(stage):
            return SKIP
        if _finishes_a_reduction(workload, stage) and _is_read_by_reduction(workload, stage):
            return SKIP
        plan = context.planned(self, {stage.name: StagePlan("inline")}, {})
        return Answer("try" if _is_recomputed(workload, stage) else "commit", (plan,))


def _is_recomputed(workload: Workload, stage: Stage) -> bool:
    """Inlining would call something expensive more than once an element."""
    if not any(is_expensive(v) for v in stage.values):
        return False
    readers = workload.readers(stage)
    once = len(readers) == 1 and len(set(reads_of(readers[0], stage))) == 1
    return not once or readers[0].is_reduction


def _finishes_a_reduction(workload: Workload, stage: Stage) -> bool:
    return any(p.is_reduction and is_elementwise_of(stage, p) for p in producers(stage))


def _is_read_by_reduction(workload: Workload, stage: Stage) -> bool:
    return any(r.is_reduction for r in workload.readers(stage))
