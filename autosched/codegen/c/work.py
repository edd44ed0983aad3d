"""The operations a nest executes: exact loop counts times lanes as computed, padding of vectors included."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from autosched.codegen.c.lanes import chunks
from autosched.codegen.c.statements import combination
from autosched.nest.nodes import (
    Block,
    Body,
    Copy,
    Count,
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
from autosched.te.expr import operation_count
from autosched.te.integer import Int, evaluate


class Work:
    """Counts with decisions as ints; `lanes` elements a vector. A count that names an open symbol is a KeyError."""

    def __init__(self, values: Mapping[Int, int], lanes: int) -> None:
        self._values = values
        self._lanes = lanes
        self._memo: dict[Int, int] = {}

    def region(self, region: Region) -> Fraction:
        times = Fraction(1)
        for loop in region.loops:
            times *= self._average(loop.count)
        return times * self._body(region.body)

    def _value(self, expression: Int) -> int:
        return int(evaluate(expression, self._values, self._memo))

    def _average(self, count: Count) -> Fraction:
        return Fraction(self._value(count.numerator), max(self._value(count.denominator), 1))

    def _body(self, body: Body) -> Fraction:
        return sum((self._node(n) for n in body), Fraction(0))

    def _node(self, node: Node) -> Fraction:
        match node:
            case Loop():
                return self._average(node.count) * self._body(node.body)
            case Guard():
                return self._average(node.fraction) * self._body(node.body)
            case Block():
                times = Fraction(1)
                for lane in node.lanes:
                    times *= self._executed(lane, lane.var is node.vector)
                return times * self._body(node.body)
            case Store(_, _, value):
                return Fraction(operation_count(value))
            case Reduce(combiner, _, _, values):
                own = sum(map(operation_count, values))
                parts = combination(combiner, tuple(v.dtype for v in values))
                return Fraction(own + sum(map(operation_count, parts)))
            case Fold():
                parts = combination(node.combiner, tuple(b.dtype for b in node.sources))
                return Fraction(self._value(node.size) * sum(map(operation_count, parts)))
            case Copy():
                times = Fraction(operation_count(node.value))
                for axis in node.axes:
                    times *= self._average(axis.count)
                return times
        return Fraction(0)

    def _executed(self, lane: Lane, along_vector: bool) -> Fraction:
        """Average lanes of a block, whole vectors counted where they run along the lane."""
        average = self._average(lane.count)
        size, tail = self._value(lane.size), self._value(lane.tail)
        if not along_vector or size <= tail:
            return average
        share_full = min(Fraction(1), (average - tail) / (size - tail))
        wide, narrow = (
            sum(c.width for c in chunks(lane.var, size, n, self._lanes)) for n in (size, tail)
        )
        return share_full * wide + (1 - share_full) * narrow


def operations(nest: Nest, values: Mapping[Int, int], lanes: Mapping[str, int]) -> int:
    """Operations of the timed regions; `lanes` by the name of the region."""
    return round(sum((Work(values, lanes[r.name]).region(r) for r in nest.regions), Fraction(0)))
