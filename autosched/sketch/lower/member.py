"""One stage of a group as loops: the tile structure.

    for u1 ..                       spatial units of the task's tile
      for k0 ..                     tiles of the reduction
        copies at `reduce`
        for u2 ..                   spatial units inside the reduction tile, one axis may be hoisted
          block (lanes ..)          the register block
            acc = identity, or what the last reduction tile left
            for k1 ..               inside the reduction tile
              acc = combine(acc, values)
            result                  stored, or finished by the fused consumers on the last tile

A vector reduction has the lanes of its last reduction axis in the block, one accumulator a lane, folded at the end.
A stage without a reduction is the same with nothing between. Loops of extent 1 are left to the printer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from autosched.nest.nodes import (
    Alloc,
    Block,
    Body,
    Buffer,
    Copy,
    Count,
    Fold,
    Guard,
    Lane,
    Loop,
    Node,
    Reduce,
    Store,
)
from autosched.sketch.lower.axis import ZERO, ReduceTiling, SpatialTiling
from autosched.sketch.lower.scope import Homes, Place, read
from autosched.te.expr import Expr, Load
from autosched.te.integer import Int, as_int, equal
from autosched.te.workload import Stage

Finish = Callable[[tuple[Expr, ...]], Body]
"""What is done with the finished values of the components at a register block: the stores."""


@dataclass(frozen=True, eq=False)
class Member:
    """Everything lowering needs about one stage: tilings in axis order, the operands that are read from copies, the
    copies to make at each position, where partial results of a split reduction tile rest."""

    stage: Stage
    spatial: tuple[SpatialTiling, ...]
    reduce: tuple[ReduceTiling, ...]
    vector: Int | None
    hoist: str
    homes: Homes
    replaced: dict[Expr, Expr]
    task_copies: tuple[Copy, ...] = ()
    reduce_copies: tuple[Copy, ...] = ()
    partial: tuple[Buffer, ...] = ()
    partial_indices: tuple[Int, ...] = ()

    @property
    def place(self) -> Place:
        """Values of the stage's axes in its innermost loops."""
        stage = self.stage
        values: dict[Int, Int] = {}
        local: dict[Int, Int] = {}
        for axis, tiling in zip(stage.axes, self.spatial, strict=True):
            values[axis.symbol], local[axis.symbol] = tiling.value, tiling.local
        for axis, reduction in zip(stage.reduce_axes, self.reduce, strict=True):
            values[axis.symbol], local[axis.symbol] = reduction.value, reduction.local
        return Place(values, local)

    @property
    def vector_reduction(self) -> ReduceTiling | None:
        for tiling in self.reduce:
            if tiling.is_vector:
                return tiling
        return None

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return tuple(t.block_lane() for t in self.spatial if t.lane is not ZERO)


def lower_member(member: Member, finish: Finish) -> Body:
    """The loops of one stage inside a task; `finish` gives the stores of a register block's results."""
    block = _register_block(member, finish)
    body: Body = nested([t.inner_loop() for t in _ordered(member)], (block,))
    body = _with_allocs(member.reduce_copies, body)
    if member.stage.is_reduction:
        body = nested([t.outer_loop() for t in member.reduce if not t.is_vector], body)
    body = nested([t.outer_loop() for t in member.spatial], body)
    return _with_allocs(member.task_copies, body)


def _ordered(member: Member) -> list[SpatialTiling]:
    """Spatial axes in te order, the hoisted one first."""
    first = [t for t in member.spatial if t.name == member.hoist]
    return first + [t for t in member.spatial if t.name != member.hoist]


def nested(loops: list[Loop], body: Body) -> Body:
    """The loops around a body, outermost first."""
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return body


def _with_allocs(copies: tuple[Copy, ...], body: Body) -> Body:
    allocs: list[Node] = [Alloc(c.buffer) for c in copies]
    return (*allocs, *copies, *body)


def _register_block(member: Member, finish: Finish) -> Node:
    if not member.stage.is_reduction:
        values = tuple(
            read(v, member.place, member.homes, member.replaced) for v in member.stage.values
        )
        return _block(member, finish(values), member.vector)
    if member.vector_reduction is not None:
        return _block(member, _vector_reduction(member, finish), None)
    return _block(member, _accumulation(member, finish), member.vector)


def _block(member: Member, body: Body, vector: Int | None) -> Node:
    return Block(member.lanes, body, vector)


def _accumulators(member: Member, suffix: str, extra: tuple[Int, ...] = ()) -> tuple[Buffer, ...]:
    shape = tuple(lane.size for lane in member.lanes) + extra
    return tuple(
        Buffer(f"{member.stage.name}.{suffix}{i}", shape, value.dtype, "register")
        for i, value in enumerate(member.stage.values)
    )


def _identity(buffers: tuple[Buffer, ...], at: tuple[Int, ...], stage: Stage) -> Body:
    assert stage.combiner is not None
    constants = stage.combiner.identity(tuple(v.dtype for v in stage.values))
    return tuple(Store(b, at, c) for b, c in zip(buffers, constants, strict=True))


def _accumulation(member: Member, finish: Finish) -> Body:
    """acc = identity or partial; loops; partial or result, which are one where the result needs nothing more."""
    stage = member.stage
    assert stage.combiner is not None
    accumulators = _accumulators(member, "acc")
    at = tuple(lane.var for lane in member.lanes)
    values = tuple(read(v, member.place, member.homes, member.replaced) for v in stage.values)
    update: Body = (Reduce(stage.combiner, accumulators, at, values),)
    body = nested([t.inner_loop() for t in member.reduce], update)
    results = tuple(Load(b, at) for b in accumulators)
    start = _identity(accumulators, at, stage)
    allocs = tuple(Alloc(b) for b in accumulators)
    if not member.partial:
        return (*allocs, *start, *body, *finish(results))
    first, last, n_tiles = _tile_position(member)
    resume = tuple(
        Store(b, at, Load(p, member.partial_indices))
        for b, p in zip(accumulators, member.partial, strict=True)
    )
    keep = tuple(
        Store(p, member.partial_indices, r) for p, r in zip(member.partial, results, strict=True)
    )
    done = finish(results)
    once, rest = Count(as_int(1), n_tiles), Count(n_tiles - 1, n_tiles)
    closing = (Guard(equal(last, 0), keep, rest), Guard(last, done, once))
    return (
        *allocs,
        Guard(first, start, once),
        Guard(equal(first, 0), resume, rest),
        *body,
        *(keep if keep == done else closing),
    )


def _tile_position(member: Member) -> tuple[Int, Int, Int]:
    """Whether this is the first reduction tile, whether it is the last, and how many there are.

    The tile number counts over all cut axes: number = sum(outer_var * tiles of the axes inside it)."""
    number, total = as_int(0), as_int(1)
    for tiling in reversed(member.reduce):
        number = number + tiling.outer_var * total
        total = total * tiling.n_tiles
    return equal(number, 0), equal(number, total - 1), total


def _vector_reduction(member: Member, finish: Finish) -> Body:
    """One accumulator a lane of the reduction axis, folded into one result a spatial lane."""
    stage, reduction = member.stage, member.vector_reduction
    assert stage.combiner is not None
    assert reduction is not None
    accumulators = _accumulators(member, "acc", (reduction.lanes,))
    folded = _accumulators(member, "sum")
    at = tuple(lane.var for lane in member.lanes)
    with_lane = (*at, reduction.lane)
    values = tuple(read(v, member.place, member.homes, member.replaced) for v in stage.values)
    start = Block(
        (reduction.whole_lane(),), _identity(accumulators, with_lane, stage), reduction.lane
    )
    update = Block(
        (reduction.block_lane(),),
        (Reduce(stage.combiner, accumulators, with_lane, values),),
        reduction.lane,
    )
    loops = [t.inner_loop() for t in member.reduce if not t.is_vector] + [reduction.inner_loop()]
    fold = Fold(
        stage.combiner, folded, at, accumulators, with_lane, reduction.lane, reduction.lanes
    )
    return (
        *(Alloc(b) for b in (*accumulators, *folded)),
        start,
        *nested(loops, (update,)),
        fold,
        *finish(tuple(Load(b, at) for b in folded)),
    )
