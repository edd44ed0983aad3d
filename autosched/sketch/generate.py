"""Sketch generation: an ordered list of rules, applied to the stages from the last to the first.

Generation runs in passes. Each pass has its rule list and visits the stages that are still open, the last first; a
work item is a plan and the stage to visit. A rule answers skip, try (its plans, then the next rules too) or commit
(its plans only); a stage that no rule took stays open for the next pass. After the inlining pass, stages are looked
at with the inlined ones gone. A plan with no open stage is lowered to a nest, once.
"""

from __future__ import annotations

from collections.abc import Iterable

from autosched.sketch.inline import inlined
from autosched.sketch.lower.lower import lower
from autosched.sketch.lower.space import NoCandidateError
from autosched.sketch.plan import Plan, StagePlan
from autosched.sketch.rules.ansor import (
    AnsorCacheWrite,
    AnsorInline,
    AnsorRfactor,
    AnsorTile,
    AnsorTileWithConsumer,
)
from autosched.sketch.rules.inline import Inline
from autosched.sketch.rules.row_fusion import RowFusion
from autosched.sketch.rules.rule import Context, Rule
from autosched.sketch.rules.split_reduction import SplitReduction
from autosched.sketch.rules.tile import Tile, TileWithConsumer
from autosched.sketch.seeds import seeds
from autosched.sketch.sketch import Sketch
from autosched.target.target import Target
from autosched.te.workload import Workload

Passes = tuple[tuple[Rule, ...], ...]

CPU_RULES: Passes = (
    (Inline(),),
    (RowFusion(), SplitReduction(), TileWithConsumer(), Tile()),
)

ANSOR_RULES: Passes = (
    (AnsorInline(),),
    (AnsorRfactor(), AnsorCacheWrite(), AnsorTileWithConsumer(), AnsorTile()),
)
"""Ansor's CPU rules alone, to compare its space with ours."""

MOST_SKETCHES = 64


def generate(
    workload: Workload, target: Target, *, passes: Passes = CPU_RULES
) -> tuple[Sketch, ...]:
    """Every sketch of a canonical workload, at most `MOST_SKETCHES`, in the order of the rules' preference."""
    plans = plans_of(workload, target, passes=passes)
    found = [sketch_of(workload, plan, target) for plan in _spread(plans, MOST_SKETCHES)]
    return tuple(sketch for sketch in found if sketch is not None)


def plans_of(workload: Workload, target: Target, *, passes: Passes = CPU_RULES) -> list[Plan]:
    """The finished plans, without lowering them."""
    plans = [Plan(tuple((s.name, StagePlan()) for s in workload.stages))]
    for rules in passes:
        plans = [done for plan in plans for done in _visited(workload, plan, target, rules)]
    return list({p.stages: p for p in plans}.values())


def _visited(
    workload: Workload, plan: Plan, target: Target, rules: tuple[Rule, ...]
) -> Iterable[Plan]:
    """The plans that one pass makes of a plan."""
    gone = frozenset(n for n, p in plan.stages if p.placement == "inline")
    seen = inlined(workload, gone)
    written = {s.name: s for s in workload.stages}
    plans = [plan]
    for stage in reversed(seen.stages):
        following: list[Plan] = []
        for current in plans:
            if current[stage.name].placement != "open":
                following.append(current)
            else:
                following += _applied(
                    Context(seen, stage, written[stage.name], current, target), rules
                )
        plans = list({p.stages: p for p in following}.values())
    return plans


def _applied(context: Context, rules: tuple[Rule, ...]) -> list[Plan]:
    """What the rules make of one stage, in their order; the plan as it was where none commits."""
    found: list[Plan] = []
    for rule in rules:
        answer = rule.apply(context)
        if answer.verdict != "skip":
            found += answer.plans
        if answer.verdict == "commit":
            return found
    return [*found, context.plan]


def _spread(plans: list[Plan], most: int) -> list[Plan]:
    """At most `most` plans, evenly over the list, the first always among them."""
    if len(plans) <= most:
        return plans
    return [plans[i * len(plans) // most] for i in range(most)]


def sketch_of(
    workload: Workload, plan: Plan, target: Target, *, seeded: bool = True
) -> Sketch | None:
    """The sketch of a plan; none where no values keep its constraints. `seeded`: with its constructive seeds."""
    try:
        lowered = lower(workload, plan, target)
    except NoCandidateError:
        return None
    return Sketch(
        workload,
        plan.derivation,
        lowered.nest,
        lowered.decisions,
        lowered.constraints,
        seeds(lowered, plan, target) if seeded else (),
    )
