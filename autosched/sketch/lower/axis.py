"""How one axis is cut, and what each part of it is called.

    x = base + (u1 * inner + u2) * lanes + lane          0 <= x < extent

`base` is the start of the task's tile (`par * tile`, or 0), u1 and u2 the unit loops outside and inside the reduction
tile, `lane` the place in the register block. Every outer tile is a multiple of `lanes`, so a register block has two
static sizes: `lanes`, and `extent % lanes` at the end. A value is always `units * lanes + lane`: nothing is divided.
"""

from __future__ import annotations

from dataclasses import dataclass

from autosched.nest.nodes import ONE, Count, Lane, Loop
from autosched.te.integer import (
    Int,
    as_int,
    ceil_div,
    equal,
    less_equal,
    minimum,
    select,
    symbol,
)

ZERO = as_int(0)


def index(name: str) -> Int:
    """A loop variable."""
    return symbol(name, "index")


@dataclass(frozen=True)
class SpatialTiling:
    """A spatial axis of one stage. `tile` is the extent of a task's part, `par` the loop variable over tasks (the
    constant 0 where the axis is not parallel), `outer` the number of u1 steps in a full tile."""

    name: str
    extent: Int
    par: Int
    tile: Int
    lanes: Int
    inner: Int
    outer: Int

    @property
    def u1(self) -> Int:
        return index(f"{self.name}.1")

    @property
    def u2(self) -> Int:
        return index(f"{self.name}.2")

    @property
    def lane(self) -> Int:
        return ZERO if self.lanes is ONE else index(f"{self.name}.l")

    @property
    def base(self) -> Int:
        return self.par * self.tile

    @property
    def n_tasks(self) -> Int:
        return ceil_div(self.extent, self.tile)

    @property
    def units(self) -> Int:
        """Register blocks along the whole axis."""
        return ceil_div(self.extent, self.lanes)

    @property
    def local(self) -> Int:
        """The value relative to the task's tile."""
        return (self.u1 * self.inner + self.u2) * self.lanes + self.lane

    @property
    def value(self) -> Int:
        return self.base + self.local

    @property
    def inner_extent(self) -> Int:
        return minimum(self.inner, self.units)

    @property
    def tile_units(self) -> Int:
        """Register blocks in the largest task tile."""
        return minimum(self.outer * self.inner, self.units)

    def parallel_loop(self) -> Loop:
        n = self.n_tasks
        return Loop(self.par, n, n, Count(n), ())

    def outer_loop(self) -> Loop:
        step = self.lanes * self.inner
        steps = ceil_div(self.extent, step)
        limit = minimum(self.outer, ceil_div(self.extent - self.base, step))
        return Loop(self.u1, minimum(self.outer, steps), limit, Count(steps, self.n_tasks), ())

    def inner_loop(self) -> Loop:
        start = self.base + self.u1 * self.inner * self.lanes
        limit = minimum(self.inner, ceil_div(self.extent - start, self.lanes))
        steps = ceil_div(self.extent, self.lanes * self.inner)
        return Loop(self.u2, self.inner_extent, limit, Count(self.units, steps), ())

    def block_lane(self) -> Lane:
        start = self.base + (self.u1 * self.inner + self.u2) * self.lanes
        tail = self.extent % self.lanes
        full = select(equal(tail, 0), 1, less_equal(start + self.lanes, self.extent))
        return Lane(self.lane, self.lanes, tail, full, Count(self.extent, self.units))


@dataclass(frozen=True)
class ReduceTiling:
    """A reduction axis: x = base + outer_var * tile + inner_var < total. `extent` is the largest part of one parallel
    chunk (a multiple of `lanes`, or everything). `lanes` over 1: x = base + inner_var * lanes + lane, one tile."""

    name: str
    total: Int
    extent: Int
    base: Int
    tile: Int
    lanes: Int = ONE
    unroll: Int = ONE

    @property
    def outer_var(self) -> Int:
        return index(f"{self.name}.0")

    @property
    def inner_var(self) -> Int:
        return index(f"{self.name}.1")

    @property
    def lane(self) -> Int:
        return index(f"{self.name}.l")

    @property
    def is_vector(self) -> bool:
        return self.lanes is not ONE

    @property
    def left(self) -> Int:
        """What there is of this chunk."""
        return minimum(self.extent, self.total - self.base)

    @property
    def local(self) -> Int:
        """The value relative to the chunk."""
        if self.is_vector:
            return self.inner_var * self.lanes + self.lane
        return self.outer_var * self.tile + self.inner_var

    @property
    def value(self) -> Int:
        return self.base + self.local

    @property
    def n_tiles(self) -> Int:
        return ceil_div(self.extent, self.tile)

    @property
    def tile_extent(self) -> Int:
        return minimum(self.tile, self.extent)

    def outer_loop(self) -> Loop:
        n = self.n_tiles
        return Loop(self.outer_var, n, ceil_div(self.left, self.tile), Count(n), ())

    def inner_loop(self) -> Loop:
        if self.is_vector:
            n = ceil_div(self.extent, self.lanes)
            return Loop(
                self.inner_var,
                n,
                ceil_div(self.left, self.lanes),
                Count(n),
                (),
                unroll=self.unroll,
                peel=self.left // self.lanes,
            )
        left = self.left - self.outer_var * self.tile
        count = Count(self.extent, self.n_tiles)
        limit = minimum(self.tile, left)
        return Loop(self.inner_var, self.tile_extent, limit, count, (), unroll=self.unroll)

    def block_lane(self) -> Lane:
        tail = self.total % self.lanes
        end = self.base + self.inner_var * self.lanes + self.lanes
        full = select(equal(tail, 0), 1, less_equal(end, self.total))
        count = Count(self.total, ceil_div(self.total, self.lanes))
        return Lane(self.lane, self.lanes, tail, full, count)

    def whole_lane(self) -> Lane:
        """All lanes, valid or not: where accumulators are initialised."""
        return Lane(self.lane, self.lanes, ZERO, ONE, Count(self.lanes))
