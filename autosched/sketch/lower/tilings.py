"""How the axes of a group's stages are cut: decisions, domains and the constraints between them."""

from __future__ import annotations

from autosched.nest.nodes import ONE
from autosched.sketch.analysis import has_reuse, has_size, operands, phase_axes
from autosched.sketch.lower.axis import ZERO, ReduceTiling, SpatialTiling, index
from autosched.sketch.lower.space import Role, Space, ladder, largest
from autosched.sketch.lower.state import Group, Lowering
from autosched.te.dtype import n_bytes
from autosched.te.expr import index_symbols
from autosched.te.integer import Int, as_int, ceil_div, equal, less_equal, select
from autosched.te.workload import Axis, Stage

REGISTER_ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14)
FEW_ROWS = (1, 2, 3, 4)
"""Lanes of the axis next to the vectors, and of the axes further out."""
UNROLLS = (1, 2, 4, 8)
SMALL = 8
"""Reduction axes up to this extent are not cut."""


def group_tilings(lowering: Lowering, group: Group) -> dict[str, tuple[SpatialTiling, ...]]:
    """Tilings of every member's spatial axes. The member with reuse, else the last, decides the tasks' tiles."""
    lead = next((s for s in group.members if has_reuse(s)), group.members[-1])
    leading = _lead_tilings(lowering, group, lead)
    shared = leading[: group.n_shared]
    found = {}
    for stage in group.members:
        found[stage.name] = leading if stage is lead else _follow(lowering, group, stage, shared)
    return found


def _lead_tilings(lowering: Lowering, group: Group, stage: Stage) -> tuple[SpatialTiling, ...]:
    return tuple(
        _lead_tiling(lowering, group, stage, position) for position in range(len(stage.axes))
    )


def _lead_tiling(lowering: Lowering, group: Group, stage: Stage, position: int) -> SpatialTiling:
    axis = stage.axes[position]
    name = f"{stage.name}.{axis.name}"
    space, extent = lowering.space, axis.extent
    shared = position < group.n_shared
    if _is_chunk(lowering, stage, axis) or axis.symbol in phase_axes(stage):
        par = index(f"{group.name}.{position}.p") if shared else ZERO
        whole = ONE if shared else extent
        return SpatialTiling(name, extent, par, whole, ONE, ONE, whole)
    lanes = space.decide(Role("r", stage, axis.name), _lane_domain(lowering, stage, axis))
    n = largest(extent)
    tiled = has_reuse(stage)
    inner = space.decide(Role("m", stage, axis.name), ladder(min(n, 64))) if tiled else ONE
    step = lanes * inner
    if not shared:
        return SpatialTiling(name, extent, ZERO, extent, lanes, inner, ceil_div(extent, step))
    inmost = position >= group.n_shared - 2
    outer_domain = ladder(min(n, 32 if tiled else 512)) if tiled or inmost else (1,)
    outer = space.decide(Role("o", stage, axis.name), outer_domain)
    par = index(f"{group.name}.{position}.p")
    return SpatialTiling(name, extent, par, step * outer, lanes, inner, outer)


def _is_chunk(lowering: Lowering, stage: Stage, axis: Axis) -> bool:
    chunk = lowering.chunks.get(stage.name)
    return chunk is not None and chunk.chunk_axis is axis.symbol


def _lane_domain(lowering: Lowering, stage: Stage, axis: Axis) -> tuple[int, ...]:
    if has_size(axis.extent):
        return (1,)  # a register block needs a static tail
    n, vector = largest(axis.extent), lowering.stage_plan(stage).vector
    if axis.name == vector:
        width = lowering.target.lanes(n_bytes(stage.values[0].dtype))
        most = 4 if stage.is_reduction else 8
        return tuple(width * i for i in (1, 2, 3, 4, 6, 8) if i <= most and width * (i - 1) < n)
    if not has_reuse(stage):
        return (1,)
    rows = REGISTER_ROWS if axis is row_axis(stage, vector) else FEW_ROWS
    return tuple(r for r in rows if r <= n)


def row_axis(stage: Stage, vector: str) -> Axis | None:
    """The axis to fill the register block with beside the vectors: the innermost one that the operands read as
    vectors do not depend on, so that each vector is used once a row."""
    others = [a for a in stage.axes if a.name != vector]
    along = {a.symbol for a in stage.axes if a.name == vector}
    vectors = [index_symbols(o) for o in operands(stage)]
    used = frozenset().union(*(s for s in vectors if s & along))
    free = [a for a in others if a.symbol not in used]
    return (free or others)[-1] if others else None


def _follow(
    lowering: Lowering, group: Group, stage: Stage, shared: tuple[SpatialTiling, ...]
) -> tuple[SpatialTiling, ...]:
    """Tilings of a member that takes the tasks as they are: one lane an axis, vectors along its vector axis."""
    found = []
    vector = lowering.stage_plan(stage).vector
    width = lowering.target.lanes(n_bytes(stage.values[0].dtype))
    for position, axis in enumerate(stage.axes):
        name = f"{stage.name}.{axis.name}"
        if position < len(shared):
            lead = shared[position]
            lanes = as_int(width) if axis.name == vector else ONE
            _require_whole_lanes(lowering, lead, lanes)
            outer = ceil_div(lead.tile, lanes)
            found.append(SpatialTiling(name, axis.extent, lead.par, lead.tile, lanes, ONE, outer))
            continue
        lanes = lowering.space.decide(
            Role("r", stage, axis.name), _lane_domain(lowering, stage, axis)
        )
        outer = ceil_div(axis.extent, lanes)
        found.append(SpatialTiling(name, axis.extent, ZERO, axis.extent, lanes, ONE, outer))
    return tuple(found)


def _require_whole_lanes(lowering: Lowering, lead: SpatialTiling, lanes: Int) -> None:
    """A task's tile is a whole number of the follower's register blocks, or the whole axis: then its only tail is
    at the end of the axis."""
    whole = as_int(0) if has_size(lead.extent) else less_equal(lead.extent, lead.tile)
    lowering.space.require(select(equal(lead.tile % lanes, 0), 1, whole))


def reduce_tilings(
    lowering: Lowering, stage: Stage, spatial: tuple[SpatialTiling, ...]
) -> tuple[ReduceTiling, ...]:
    return tuple(
        _reduce_tiling(lowering, stage, spatial, position)
        for position in range(len(stage.reduce_axes))
    )


def _reduce_tiling(
    lowering: Lowering, stage: Stage, spatial: tuple[SpatialTiling, ...], position: int
) -> ReduceTiling:
    axis = stage.reduce_axes[position]
    name = f"{stage.name}.{axis.name}"
    space, n = lowering.space, largest(axis.extent)
    innermost = position == len(stage.reduce_axes) - 1
    chunk = lowering.chunks.get(stage.name)
    base, extent = ZERO, axis.extent
    if chunk is not None and chunk.axis is axis.symbol:
        (at,) = (
            t.base for t, a in zip(spatial, stage.axes, strict=True) if a.symbol is chunk.chunk_axis
        )
        base, extent = at * chunk.length, chunk.length
    if axis.name == lowering.stage_plan(stage).vector:
        width = lowering.target.lanes(n_bytes(stage.values[0].dtype))
        domain = tuple(width * i for i in (1, 2, 4, 8) if width * (i - 1) < n)
        lanes = space.decide(Role("r", stage, axis.name), domain)
        return ReduceTiling(name, axis.extent, extent, base, extent, lanes)
    unroll = _unroll(space, stage, axis, innermost)
    cut = has_reuse(stage) and n > SMALL and chunk is None
    tile = (
        space.decide(Role("t", stage, axis.name), tuple(t for t in ladder(n) if t >= 16 or t == n))
        if cut
        else extent
    )
    return ReduceTiling(name, axis.extent, extent, base, tile, unroll=unroll)


def _unroll(space: Space, stage: Stage, axis: Axis, innermost: bool) -> Int:
    n = largest(axis.extent)
    if innermost:
        return space.decide(Role("u", stage, axis.name), tuple(u for u in UNROLLS if u <= n))
    return space.decide(Role("u", stage, axis.name), (1, n)) if n <= SMALL else ONE
