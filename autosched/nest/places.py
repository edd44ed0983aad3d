"""A statement where it stands: the loops, lanes and guards around it, the points at which it is executed, and what it
touches at them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autosched.nest.nodes import (
    Buffer,
    Copy,
    Fold,
    Guard,
    Lane,
    Loop,
    Nest,
    Node,
    Reduce,
    Region,
    Store,
)
from autosched.nest.points import Column, Points
from autosched.te.expr import Expr, Index, Load, Select
from autosched.te.integer import Int


@dataclass(frozen=True, eq=False)
class PointAccess:
    """Elements of a buffer read or written at the points."""

    buffer: Buffer
    indices: tuple[Int, ...]
    points: Points
    writes: bool = False

    @property
    def address(self) -> Column:
        """Row-major number of the element at each point, without padding."""
        found = np.zeros(self.points.rows, dtype=np.int64)
        for index, extent in zip(self.indices, self.buffer.shape, strict=True):
            found = found * self.points.column(extent) + self.points.column(index)
        return found


@dataclass(frozen=True, eq=False)
class Place:
    """A node with all that surrounds it."""

    nest: Nest
    region: Region
    node: Node
    points: Points
    loops: tuple[Loop, ...]
    lanes: tuple[Lane, ...]
    guards: tuple[Guard, ...]
    live: frozenset[Buffer]

    @cached_property
    def accesses(self) -> tuple[PointAccess, ...]:
        return tuple(_accesses(self.node, self.points))

    @property
    def where(self) -> str:
        names = [
            self.region.name,
            *(x.var.name for x in self.loops),
            *(x.var.name for x in self.lanes),
        ]
        return f"{'/'.join(names)} {type(self.node).__name__}"


def _accesses(node: Node, points: Points) -> Iterator[PointAccess]:
    match node:
        case Store():
            yield from _loads(node.value, points)
            yield PointAccess(node.buffer, node.indices, points, writes=True)
        case Reduce():
            for value in node.values:
                yield from _loads(value, points)
            for buffer in node.buffers:
                yield PointAccess(buffer, node.indices, points, writes=True)
        case Fold():
            over = points.expanded(node.lane, points.column(node.size))
            yield from (PointAccess(s, node.source_indices, over) for s in node.sources)
            yield from (PointAccess(b, node.indices, points, writes=True) for b in node.buffers)
        case Copy():
            for axis in node.axes:
                points = points.expanded(axis.var, points.column(axis.limit))
            yield PointAccess(node.buffer, node.indices, points, writes=True)
            inside = points
            for bound in node.bounds:
                index = inside.column(bound.index)
                low, high = inside.column(bound.low), inside.column(bound.high)
                inside = inside.where(np.asarray((low <= index) & (index < high)))
            yield from _loads(node.value, inside)


def _loads(expression: Expr, points: Points) -> Iterator[PointAccess]:
    """The loads at the points where they are executed: a side of a select only where it is taken."""
    match expression:
        case Load(source, indices):
            yield PointAccess(source, indices, points)  # type: ignore[arg-type]
        case Select(Index(test, _), a, b):
            holds = points.column(test)
            yield from _loads(a, points.where(holds))
            yield from _loads(b, points.where(holds == 0))
        case _:
            for operand in expression.operands:
                yield from _loads(operand, points)
