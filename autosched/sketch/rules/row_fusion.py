"""Row fusion: stages that share outer axes, computed tile by tile of these in one nest.

    m[i] = max over j ..;  e[i, j] = exp(x[i, j] - m[i]);  s[i] = sum over j of e[i, j];  y[i, j] = e[i, j] / s[i]
->  for each block of rows i:   m;  e (kept in scratch);  s;  y

Condition: a stage reads, through its producers, at least two reductions or one it is not an elementwise consumer of,
and all of them share at least one leading axis. Everything that shares it joins; which expensive stages are kept and
which are computed again was decided by inlining before.
"""

from __future__ import annotations

from dataclasses import replace

from autosched.sketch.analysis import (
    common_axes,
    has_reuse,
    is_elementwise_of,
    shared_outer_axes,
)
from autosched.sketch.plan import Plan, StagePlan
from autosched.sketch.rules.rule import SKIP, Answer, Context
from autosched.sketch.rules.structure import plain_vectors, structures
from autosched.te.workload import Stage, producers

MOST_MEMBER_STRUCTURES = 8


class RowFusion:
    name = "row_fusion"
    version = 1

    def apply(self, context: Context) -> Answer:
        """Visits the last stage of a chain; everything above it must still be open."""
        members = _members(context)
        if len(members) < 2 or not _is_worth(members):
            return SKIP
        plans: list[Plan] = []
        tiled = next((s for s in members if has_reuse(s)), None)
        options = list(structures(tiled))[:MOST_MEMBER_STRUCTURES] if tiled else [StagePlan()]
        for vectors in _vector_choices(members):
            for option in options:
                plans.append(self._planned(context, members, tiled, option, vectors))
        return Answer("try", tuple(plans))

    def _planned(
        self,
        context: Context,
        members: list[Stage],
        tiled: Stage | None,
        option: StagePlan,
        vectors: dict[str, str],
    ) -> Plan:
        group = members[-1].name
        changes = {s.name: StagePlan("rows", group=group, vector=vectors[s.name]) for s in members}
        if tiled is not None:
            changes[tiled.name] = replace(option, placement="rows", group=group)
        arguments = {
            "members": [s.name for s in members],
            "vectors": [vectors[s.name] for s in members],
            "packs": [f"{p.operand}:{p.position}:{p.mode}" for p in option.packs],
            "hoist": option.hoist,
        }
        return context.planned(self, changes, arguments)


def _members(context: Context) -> list[Stage]:
    """The visited stage and every producer, however far, that shares its leading axis, in order."""
    workload = context.workload
    found = {context.stage.name}
    changed = True
    while changed:
        changed = False
        for stage in workload.stages:
            if stage.name in found or context.plan[stage.name].placement != "open":
                continue
            readers = workload.readers(stage)
            if readers and all(
                r.name in found and shared_outer_axes(r, stage) > 0 for r in readers
            ):
                found.add(stage.name)
                changed = True
    return [s for s in workload.stages if s.name in found]


def _is_worth(members: list[Stage]) -> bool:
    """More than an epilogue: some member reads a reduction otherwise than elementwise."""
    names = {s.name for s in members}
    return any(
        p.is_reduction and not is_elementwise_of(s, p)
        for s in members
        for p in producers(s)
        if p.name in names
    )


def _vector_choices(members: list[Stage]) -> list[dict[str, str]]:
    """A vector axis inside the rows for each member: its first choice or its last."""
    n_shared = common_axes(members)
    choices: dict[str, list[str]] = {}
    for stage in members:
        outer = {a.name for a in stage.axes[:n_shared]}
        choices[stage.name] = [v for v in plain_vectors(stage) if v not in outer] or [""]
    first = {n: c[0] for n, c in choices.items()}
    last = {n: c[-1] for n, c in choices.items()}
    return [first] if first == last else [first, last]
