"""A group of stages as parallel regions: shared outer axes become tasks, members run one after another in each.

    for every task (par ..)                tiles of the shared axes, in parallel
      member 1                             its other axes whole, results in scratch or in place
      member 2 ..

With one anchor that shares all its axes this is a tiled kernel; with softmax's four stages sharing the rows it is row
fusion; with an elementwise consumer of the anchor it is an epilogue at tile level.
"""

from __future__ import annotations

from dataclasses import replace

from autosched.nest.nodes import ONE, Alloc, Body, Buffer, Copy, Node, Region, Role, Store
from autosched.sketch.analysis import has_size, operands
from autosched.sketch.lower.axis import ZERO, ReduceTiling, SpatialTiling
from autosched.sketch.lower.member import Finish, Member, lower_member
from autosched.sketch.lower.packing import (
    Packed,
    pack_axes,
    pack_span,
    parallel_copy,
    reduce_part,
    spatial_part,
)
from autosched.sketch.lower.scope import Home, Place, home_key, read
from autosched.sketch.lower.state import Group, Lowering
from autosched.sketch.lower.tilings import group_tilings, reduce_tilings
from autosched.sketch.plan import Pack, StagePlan
from autosched.te.dtype import n_bytes
from autosched.te.expr import Expr, cast
from autosched.te.integer import Int, as_int, ceil_div, less_equal, minimum, select
from autosched.te.workload import Stage, stage_tensors

MOST_UNROLLED = 64
"""Register-block statements printed for one stage, over all variants of its tails."""


ROLES: dict[str, Role] = {"prepare": "packed", "shared": "workspace"}
"""What the buffer of a copy outside the tasks is; every other copy is local."""


def lower_group(lowering: Lowering, group: Group) -> None:
    """Append the regions of a group, and of the shared and offline copies it reads."""
    tilings = group_tilings(lowering, group)
    locals_: list[Node] = []
    for stage in group.stages:
        locals_ += _place_results(lowering, group, stage, tilings[group.members[-1].name])
    body: list[Node] = []
    for stage in group.members:
        body += _lower_stage(lowering, group, stage, tilings[stage.name])
    anchor = tilings[group.members[-1].name]
    loops = tuple(t.parallel_loop() for t in anchor[: group.n_shared])
    lowering.regions.append(Region(group.name, loops, (*locals_, *body)))


def _place_results(
    lowering: Lowering, group: Group, stage: Stage, tilings: tuple[SpatialTiling, ...]
) -> list[Node]:
    """Give every tensor of a stage a home: outputs and what other groups read are outside, the rest is scratch."""
    allocs: list[Node] = []
    inside = {id(s) for s in group.stages}
    escapes = any(id(r) not in inside for r in lowering.workload.readers(stage))
    fused = bool(group.register) and stage is group.members[-1]
    for tensor in stage_tensors(stage):
        key = home_key(tensor)
        if key in lowering.homes:
            continue
        if escapes:
            buffer = Buffer(tensor.name, tensor.shape, tensor.dtype, "global", "workspace")
            lowering.workspaces.append(buffer)
            lowering.homes[key] = Home(buffer)
        elif not fused:
            shape = _local_shape(stage, tilings, group.n_shared)
            buffer = Buffer(tensor.name, shape, tensor.dtype)
            allocs.append(Alloc(buffer))
            lowering.homes[key] = Home(buffer, group.n_shared)
    return allocs


def _local_shape(
    stage: Stage, tilings: tuple[SpatialTiling, ...], n_shared: int
) -> tuple[Int, ...]:
    tiles = tuple(minimum(t.tile, t.units * t.lanes) for t in tilings[:n_shared])
    return tiles[: len(stage.axes)] + tuple(a.extent for a in stage.axes[n_shared:])


def _lower_stage(
    lowering: Lowering, group: Group, stage: Stage, spatial: tuple[SpatialTiling, ...]
) -> Body:
    plan = lowering.stage_plan(stage)
    reduce = reduce_tilings(lowering, stage, spatial)
    vector = _vector_lane(stage, plan, spatial, reduce)
    hoist = f"{stage.name}.{plan.hoist}" if plan.hoist else ""
    member = Member(stage, spatial, reduce, vector, hoist, lowering.homes, {})
    task: list[Copy] = []
    inner: list[Copy] = []
    replaced: dict[Expr, Expr] = {}
    for pack in plan.packs:
        packed = _pack(lowering, member, pack)
        replaced[operands(stage)[pack.operand]] = packed.read
        if pack.position == "task":
            task.append(packed.copy)
        elif pack.position == "reduce":
            inner.append(packed.copy)
    allocs, partial, at = _partial(lowering, group, member)
    member = replace(
        member,
        replaced=replaced,
        task_copies=tuple(task),
        reduce_copies=tuple(inner),
        partial=partial,
        partial_indices=at,
    )
    _limit_registers(lowering, member)
    return (*allocs, *lower_member(member, _finish(lowering, group, member)))


def _vector_lane(
    stage: Stage,
    plan: StagePlan,
    spatial: tuple[SpatialTiling, ...],
    reduce: tuple[ReduceTiling, ...],
) -> Int | None:
    for axis, tiling in zip(stage.axes, spatial, strict=True):
        if axis.name == plan.vector and tiling.lane is not ZERO:
            return tiling.lane
    for reduction in reduce:
        if reduction.is_vector:
            return reduction.lane
    return None


def _pack(lowering: Lowering, member: Member, pack: Pack) -> Packed:
    """The copy of one operand; the regions of shared and offline copies are appended here."""
    stage = member.stage
    operand = operands(stage)[pack.operand]
    name = f"{stage.name}.p{pack.operand}"
    parts = [
        spatial_part(t, a.symbol, pack.position)
        for t, a in zip(member.spatial, stage.axes, strict=True)
    ] + [
        reduce_part(t, a.symbol, pack.position)
        for t, a in zip(member.reduce, stage.reduce_axes, strict=True)
    ]
    role = ROLES.get(pack.position, "local")
    if pack.mode == "span":
        packed = pack_span(name, operand, parts, member.place.values, role)
    else:
        packed = pack_axes(name, operand, parts, role)
    value = read(packed.copy.value, Place({}, {}), lowering.homes, {})
    packed = replace(packed, copy=replace(packed.copy, value=value))
    if role != "local":
        _copy_region(lowering, packed, role)
    return packed


def _copy_region(lowering: Lowering, packed: Packed, role: Role) -> None:
    loops, copy = parallel_copy(packed.copy, 1 if len(packed.copy.axes) > 1 else 0)
    region = Region(packed.buffer.name, loops, (copy,))
    if role == "packed":
        lowering.packed.append(packed.buffer)
        lowering.prepare.append(region)
    else:
        lowering.workspaces.append(packed.buffer)
        lowering.regions.append(region)


def _partial(
    lowering: Lowering, group: Group, member: Member
) -> tuple[list[Node], tuple[Buffer, ...], tuple[Int, ...]]:
    """Where partial results rest between reduction tiles: the final place if it has the accumulator's dtype, else a
    scratch tile. Nothing where no reduction axis is cut."""
    if all(t.is_vector or t.n_tiles is ONE or t.tile is t.extent for t in member.reduce):
        return [], (), ()
    stage = member.stage
    last = group.register[-1] if group.register and stage is group.members[-1] else stage
    if len(stage.values) == 1:
        home = lowering.homes[home_key(stage_tensors(last)[0])]
        if home.buffer.dtype == stage.values[0].dtype:
            return [], (home.buffer,), _home_indices(home, member)
    shape = _local_shape(stage, member.spatial, group.n_shared)
    buffers = tuple(
        Buffer(f"{stage.name}.partial{i}", shape, v.dtype) for i, v in enumerate(stage.values)
    )
    at = _home_indices(Home(buffers[0], group.n_shared), member)
    return [Alloc(b) for b in buffers], buffers, at


def _home_indices(home: Home, member: Member) -> tuple[Int, ...]:
    return tuple(t.local if d < home.n_local else t.value for d, t in enumerate(member.spatial))


def _finish(lowering: Lowering, group: Group, member: Member) -> Finish:
    """Stores of a register block's results, fused consumers included."""
    stage = member.stage
    chain = group.register if stage is group.members[-1] else ()

    def finish(results: tuple[Expr, ...]) -> Body:
        stores = _stores(lowering, member, stage, results)
        values = {id(stage): results}
        for consumer in chain:
            values[id(consumer)] = _consumer_values(lowering, member, consumer, values)
            stores += _stores(lowering, member, consumer, values[id(consumer)])
        return tuple(stores)

    return finish


def _consumer_values(
    lowering: Lowering, member: Member, consumer: Stage, values: dict[int, tuple[Expr, ...]]
) -> tuple[Expr, ...]:
    """The values of an elementwise consumer, read from the results of the stages before it in the chain."""
    replaced: dict[Expr, Expr] = {}
    for load in consumer.loads:
        source = load.source
        producer = getattr(source, "stage", None)
        if producer is not None and id(producer) in values:
            component = getattr(source, "component", 0)
            replaced[load] = cast(source.dtype, values[id(producer)][component])
    at = {a.symbol: t.value for a, t in zip(consumer.axes, member.spatial, strict=True)}
    local = {a.symbol: t.local for a, t in zip(consumer.axes, member.spatial, strict=True)}
    return tuple(read(v, Place(at, local), lowering.homes, replaced) for v in consumer.values)


def _stores(
    lowering: Lowering, member: Member, stage: Stage, results: tuple[Expr, ...]
) -> list[Node]:
    """The stores of a stage that has a home; one that lives in registers only has none."""
    stores: list[Node] = []
    for tensor, result in zip(stage_tensors(stage), results, strict=True):
        home = lowering.homes.get(home_key(tensor))
        if home is not None:
            value = cast(tensor.dtype, result)
            stores.append(Store(home.buffer, _home_indices(home, member), value))
    return stores


def _sizes_of_block(tiling: SpatialTiling) -> Int:
    """How many sizes a register block has along an axis: two where it may have a tail."""
    if has_size(tiling.extent):
        return minimum(tiling.lanes, 2)
    return select(tiling.extent % tiling.lanes, 2, 1)


def _limit_registers(lowering: Lowering, member: Member) -> None:
    """Accumulators fit the register file beside one vector operand and one broadcast; unrolled code stays small."""
    width = lowering.target.lanes(n_bytes(member.stage.values[0].dtype))
    vectors: Int = as_int(len(member.stage.values))
    variants: Int = as_int(1)
    for tiling in member.spatial:
        lanes = tiling.lanes
        is_vector = member.vector is not None and tiling.lane is member.vector
        vectors = vectors * (ceil_div(lanes, width) if is_vector else lanes)
        variants = variants * _sizes_of_block(tiling)
    for reduction in member.reduce:
        vectors = vectors * ceil_div(reduction.lanes, width)
    space = lowering.space
    space.require(less_equal(vectors, lowering.target.vector_registers - 2))
    space.require(less_equal(vectors * variants, MOST_UNROLLED))
