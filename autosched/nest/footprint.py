"""Regions by substitution: how much of a buffer the loops inside a point of the nest touch.

The reach of an index is how far it moves below and above its value at the start of the inner loops; the product of
reaches over the dimensions, united over all accesses of a buffer, is the footprint. Sizes name decisions only, so one
footprint serves a whole population, and none is ever too small: what is not affine is bounded from above.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autosched.nest.nodes import Buffer
from autosched.te.integer import (
    Int,
    as_int,
    ceil_div,
    maximum,
    minimum,
    product,
    substitute,
    symbols,
)
from autosched.te.interval import from_linear, interval, linear

ZERO = as_int(0)
ONE = as_int(1)
Extents = Mapping[Int, Int]


@dataclass(frozen=True, eq=False)
class Access:
    """One read or write of `buffer`; `tile` are trailing elements touched beside the indexed one (intrinsics)."""

    buffer: Buffer
    indices: tuple[Int, ...]
    writes: bool = False
    tile: tuple[int, ...] = ()


class Reach:
    """Reach of index expressions over loops `inner` (symbol -> extent); all other symbols stand still."""

    def __init__(self, inner: Extents) -> None:
        self.inner = inner
        self._start = dict.fromkeys(inner, ZERO)
        self._memo: dict[Int, tuple[Int, Int]] = {}
        self._bases: dict[Int, Int] = {}
        self._moving: dict[Int, bool] = {}

    def base(self, index: Int) -> Int:
        """The index at the start of the inner loops."""
        return substitute(index, self._start, self._bases)

    def of(self, index: Int) -> tuple[Int, Int]:
        """Largest move below and above the base, both not negative."""
        found = self._memo.get(index)
        if found is None:
            found = self._of(index)
            self._memo[index] = found
        return found

    def _of(self, index: Int) -> tuple[Int, Int]:
        if index.is_symbol:
            extent = self.inner.get(index)
            return (ZERO, ZERO) if extent is None else (ZERO, extent - 1)
        if not index.args or not self._moves(index):
            return ZERO, ZERO
        match index.op:
            case "add":
                return self._sum(index)
            case "mul":
                return self._product(index)
            case "floordiv" | "ceildiv":
                return self._quotient(index)
            case "mod":
                below, above = self.of(index.args[0])
                return ZERO, minimum(below + above, index.args[1] - 1)
            case "min" | "max":
                (a, b), (c, d) = (self.of(x) for x in index.args)
                return maximum(a, c), maximum(b, d)
            case "select":
                return self._either(index)
            case "lt" | "le" | "eq" | "and":
                return ZERO, ONE
        below_above = [self.of(x) for x in index.args]
        return ZERO, product([b + a + 1 for b, a in below_above]) - 1

    def _moves(self, index: Int) -> bool:
        found = self._moving.get(index)
        if found is None:
            found = index in self.inner if index.is_symbol else any(map(self._moves, index.args))
            self._moving[index] = found
        return found

    def _sum(self, index: Int) -> tuple[Int, Int]:
        below = above = ZERO
        for term, factor in linear(index)[0].items():
            b, a = self.of(term)
            below, above = (
                below + (b * factor if factor > 0 else a * -factor),
                above + (a * factor if factor > 0 else b * -factor),
            )
        return below, above

    def _product(self, index: Int) -> tuple[Int, Int]:
        a, b = index.args
        if self._moves(a) and self._moves(b):
            a_top, b_top = (sum_of(self.of(x)) + absolute(self.base(x)) for x in (a, b))
            return ZERO, a_top * b_top
        moving, factor = (a, b) if self._moves(a) else (b, a)
        below, above = self.of(moving)
        if factor.is_constant and factor.value < 0:
            return above * -factor.value, below * -factor.value
        if interval(factor, dict.fromkeys(symbols(factor), (0, 1 << 62)))[0] >= 0:
            return below * factor, above * factor
        size = absolute(factor)
        return maximum(below, above) * size, maximum(below, above) * size

    def _quotient(self, index: Int) -> tuple[Int, Int]:
        top, divisor = index.args
        if self._moves(divisor):
            return ZERO, sum_of(self.of(top)) + absolute(self.base(top))
        below, above = self.of(top)
        base = self.base(top)
        if index.op == "floordiv" and not outer_symbols(base):
            middle = base // divisor
            return middle - (base - below) // divisor, (base + above) // divisor - middle
        return ceil_div(below, divisor), ceil_div(above, divisor)

    def _either(self, index: Int) -> tuple[Int, Int]:
        condition, a, b = index.args
        reaches = [self.of(a), self.of(b)]
        if not self._moves(condition):
            (c, d), (e, f) = reaches
            return maximum(c, e), maximum(d, f)
        return ZERO, sum_of(reaches[0]) + sum_of(reaches[1]) + 1


def sum_of(pair: tuple[Int, Int]) -> Int:
    return pair[0] + pair[1]


def absolute(value: Int) -> Int:
    return maximum(value, value * -1)


def outer_symbols(expression: Int) -> bool:
    """True if the expression names a loop variable."""
    return any(s.kind == "index" for s in symbols(expression))


@dataclass(frozen=True, eq=False)
class _Window:
    """Per dimension: the first index and one past the last, relative to where the inner loops start."""

    low: tuple[Int, ...]
    high: tuple[Int, ...]


def _window(access: Access, reach: Reach) -> _Window:
    low, high = [], []
    offset = len(access.indices) - len(access.tile)
    for d, index in enumerate(access.indices):
        below, above = reach.of(index)
        base = reach.base(index)
        more = access.tile[d - offset] if d >= offset else 1
        low.append(base - below)
        high.append(base + above + more)
    return _Window(tuple(low), tuple(high))


def _difference(a: Int, b: Int) -> Int | None:
    """a - b if it names no loop variable, else None."""
    if a is b:
        return ZERO
    result = from_linear(*linear(a - b))
    return None if outer_symbols(result) else result


def _united(first: _Window, second: _Window) -> _Window | None:
    """The hull of two windows; None where the loops around them move them apart."""
    low, high = [], []
    for a_low, a_high, b_low, b_high in zip(
        first.low, first.high, second.low, second.high, strict=True
    ):
        before, after = _difference(b_low, a_low), _difference(b_high, a_high)
        if before is None or after is None:
            return None
        low.append(a_low + minimum(before, 0))
        high.append(a_high + maximum(after, 0))
    return _Window(tuple(low), tuple(high))


def _size(window: _Window, buffer: Buffer) -> Int:
    sizes = []
    for low, high, extent in zip(window.low, window.high, buffer.shape, strict=True):
        sizes.append(minimum(from_linear(*linear(high - low)), extent))
    return product(sizes)


def footprint(accesses: Iterable[Access], reach: Reach) -> Int:
    """Elements of one buffer that the accesses touch while the inner loops run once; never too small."""
    windows: list[_Window] = []
    buffer: Buffer | None = None
    for access in accesses:
        buffer = access.buffer
        window = _window(access, reach)
        for i, known in enumerate(windows):
            united = _united(known, window)
            if united is not None:
                windows[i] = united
                break
        else:
            windows.append(window)
    if buffer is None:
        return ZERO
    if len(windows) == 1:
        return _size(windows[0], buffer)
    total = ZERO
    for window in windows:
        total = total + _size(window, buffer)
    return minimum(total, product(list(buffer.shape)))


def stride(index: Sequence[Int], buffer: Buffer, variable: Int) -> Int:
    """Elements by which the address moves when `variable` goes from 0 to 1, other symbols at 0: its coefficient."""
    total = ZERO
    for part, step in zip(index, buffer.strides, strict=True):
        rest = {s: ZERO for s in symbols(part) if s.kind == "index" and s is not variable}
        one = substitute(part, {**rest, variable: ONE})
        zero = substitute(part, {**rest, variable: ZERO})
        total = total + (one - zero) * step
    return from_linear(*linear(total))
