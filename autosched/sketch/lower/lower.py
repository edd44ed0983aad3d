"""A plan becomes a nest: stages inlined and split on te, the rest grouped, each group lowered to regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autosched.nest.nodes import Buffer, Nest
from autosched.nest.nodes import Role as BufferRole
from autosched.sketch.analysis import axis_by_name, common_axes
from autosched.sketch.inline import inlined
from autosched.sketch.lower.group import lower_group
from autosched.sketch.lower.scope import Home, home_key
from autosched.sketch.lower.space import Role, Space, ladder, largest
from autosched.sketch.lower.split import LOCAL, PART, Chunk, cache_write, split_reduction
from autosched.sketch.lower.state import Group, Lowering
from autosched.sketch.plan import Plan
from autosched.sketch.sketch import Decision
from autosched.target.target import Target
from autosched.te.dtype import n_bytes
from autosched.te.integer import Int, symbols
from autosched.te.workload import Stage, Tensor, Workload, producers

CHUNK_VECTORS = 8
"""A chunk of a split reduction is a multiple of this many vectors, the most lanes a vector reduction has."""


@dataclass(frozen=True, eq=False)
class Lowered:
    nest: Nest
    decisions: tuple[Decision, ...]
    constraints: tuple[Int, ...]
    roles: Mapping[str, Role]


def lower(workload: Workload, plan: Plan, target: Target) -> Lowered:
    """The nest of a plan in which no stage is open."""
    inline = frozenset(n for n, p in plan.stages if p.placement == "inline")
    space = Space()
    whole, chunks = _split(inlined(workload, inline), plan, target, space)
    lowering = Lowering(whole, plan, target, chunks, space)
    inputs = tuple(_external(lowering, t, "input") for t in whole.inputs)
    outputs = tuple(_external(lowering, t, "output") for t in whole.outputs)
    for group in groups(whole, plan):
        lower_group(lowering, group)
    nest = Nest(
        workload.name,
        inputs,
        outputs,
        tuple(lowering.packed),
        tuple(lowering.workspaces),
        tuple(lowering.prepare),
        tuple(lowering.regions),
        _sizes(whole),
    )
    return Lowered(nest, space.decisions, space.constraints, space.roles)


def _sizes(workload: Workload) -> tuple[Int, ...]:
    """Symbols in the shapes of inputs and outputs: known only at run time."""
    found: dict[Int, None] = {}
    for tensor in (*workload.inputs, *workload.outputs):
        for extent in tensor.shape:
            found.update(dict.fromkeys(sorted(symbols(extent), key=lambda s: s.name)))
    return tuple(found)


def _split(
    workload: Workload, plan: Plan, target: Target, space: Space
) -> tuple[Workload, dict[str, Chunk]]:
    """Apply the local copies and split reductions of the plan to te."""
    chunks: dict[str, Chunk] = {}
    for name, stage_plan in plan.stages:
        if stage_plan.cached:
            workload = cache_write(workload, name)
        if not stage_plan.split:
            continue
        (stage,) = (s for s in workload.stages if s.name == name)
        step = target.lanes(n_bytes(stage.values[0].dtype)) * CHUNK_VECTORS
        most = -(-largest(axis_by_name(stage, stage_plan.split).extent) // step)
        length = space.decide(Role("c", stage, stage_plan.split), ladder(min(most, 2048))) * step
        workload, chunks[name + PART] = split_reduction(workload, name, stage_plan.split, length)
    return workload, chunks


def _external(lowering: Lowering, tensor: Tensor, role: BufferRole) -> Buffer:
    buffer = Buffer(tensor.name, tensor.shape, tensor.dtype, "global", role)
    lowering.homes.setdefault(home_key(tensor), Home(buffer))
    return buffer


def groups(workload: Workload, plan: Plan) -> list[Group]:
    """The groups of a plan, each after everything it reads."""
    members: dict[str, list[Stage]] = {}
    register: dict[str, list[Stage]] = {}
    for stage in workload.stages:
        if stage.name.endswith((PART, LOCAL)):
            members[stage.name] = [stage]
            continue
        stage_plan = plan[stage.name]
        match stage_plan.placement:
            case "root":
                members[stage.name] = [stage]
            case "rows" | "tile":
                members.setdefault(stage_plan.group, []).append(stage)
            case "register":
                register.setdefault(stage_plan.group, []).append(stage)
            case other:
                raise ValueError(f"stage {stage.name} is {other} in a finished plan")
    return [
        Group(tuple(stages), common_axes(stages), tuple(register.get(name, ())))
        for name, stages in _in_order(workload, members, register)
    ]


def _in_order(
    workload: Workload, members: dict[str, list[Stage]], register: dict[str, list[Stage]]
) -> list[tuple[str, list[Stage]]]:
    """Groups ordered so that each stands after the groups its stages read."""
    owner = {
        s.name: name
        for table in (members, register)
        for name, stages in table.items()
        for s in stages
    }
    done: dict[str, None] = {}

    def visit(name: str) -> None:
        if name in done:
            return
        for stage in (*members[name], *register.get(name, ())):
            for producer in producers(stage):
                if owner[producer.name] != name:
                    visit(owner[producer.name])
        done[name] = None

    for stage in workload.stages:
        visit(owner[stage.name])
    return [(name, members[name]) for name in done]
