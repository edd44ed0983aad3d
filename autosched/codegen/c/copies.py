"""Copy: packing and padding, its loops split at the bounds.

A bound decides as far outside as it can: whether anything is copied of all that lies within. Those that name the
innermost axis give the piece [low, high) of a row that is copied, filled before and after it:

    fill [0, low)   copy [low, high)   fill [high, limit)

The innermost axis runs along vectors where every access moves by one element (or none) with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from autosched.codegen.c.accesses import access, flat_terms
from autosched.codegen.c.conversions import computed_dtype
from autosched.codegen.c.evaluation import value_at
from autosched.codegen.c.lanes import NO_LANES, Chunk, Lanes, Point
from autosched.codegen.c.loops import Span, counted
from autosched.codegen.c.printing import Printing
from autosched.codegen.c.values import Values
from autosched.nest.nodes import Bound, Buffer, Copy, CopyAxis, Count
from autosched.te.expr import Const, Expr, loads, substitute_indices
from autosched.te.integer import (
    Int,
    all_of,
    as_int,
    both,
    ceil_div,
    equal,
    less,
    less_equal,
    maximum,
    minimum,
    substitute,
    symbol,
)
from autosched.te.integer import symbols as symbols_of
from autosched.te.interval import linear

ONLY = CopyAxis(symbol("only", "index"), as_int(1), as_int(1), Count())
"""The innermost axis of a copy of one element."""

UNROLLED = 16
"""The most statements that copy a row without a loop."""


@dataclass(frozen=True)
class Piece:
    """The part [low, high) of the innermost axis that is copied."""

    low: Int
    high: Int
    limit: Int


def print_copy(printing: Printing, node: Copy) -> None:
    """Once for every point of the open lanes (a copy inside a block)."""
    scope = printing.scope
    lanes = scope.lanes.scalars_only()
    spans = {
        a.var: (0, scope.upper(a.extent, f"the extent of {a.var.name}") - 1) for a in node.axes
    }
    for point in lanes.over(lanes.symbols, vector=False):
        fixed = {s: (v, v) for s, v in point.values.items()}
        with scope.with_lanes(NO_LANES), scope.bound(fixed), scope.bound(spans):
            _gated(printing, node, node.axes or (ONLY,))
    printing.stored_to(node.buffer)


def _gated(printing: Printing, node: Copy, axes: tuple[CopyAxis, ...]) -> None:
    """Bounds that name none of the axes still to come decide here: copy with the others, or fill.

    if (0 <= row && row < rows) copy the row's columns else fill the row
    """
    scope = printing.scope
    settled = [b for b in node.bounds if not _named_in(printing, b) & {a.var for a in axes}]
    rest = replace(node, bounds=tuple(b for b in node.bounds if b not in settled))
    gate = scope.concrete(all_of([c for b in settled for c in _conditions(printing, b)]))
    filled = replace(node, bounds=(), value=_fill(node))
    if gate.is_constant:
        _loops(printing, rest if gate.value else filled, axes)
        return
    with printing.nested((node,), f"if ({scope.text(gate)})"):
        _loops(printing, rest, axes)
    with printing.nested((node,), "else"):
        _loops(printing, filled, axes)


def _named_in(printing: Printing, bound: Bound) -> frozenset[Int]:
    parts = (bound.low, bound.index, bound.high)
    return frozenset[Int]().union(*(symbols_of(printing.scope.concrete(e)) for e in parts))


def _conditions(printing: Printing, bound: Bound) -> tuple[Int, Int]:
    low, index, high = (printing.scope.concrete(e) for e in (bound.low, bound.index, bound.high))
    return less_equal(low, index), less(index, high)


def _loops(printing: Printing, node: Copy, axes: tuple[CopyAxis, ...]) -> None:
    axis, inner = axes[0], axes[1:]
    if not inner:
        _row(printing, node, axis)
        return
    with counted(printing, _span(axis), (node,)) as runs:
        if runs:
            _gated(printing, node, inner)


def _span(axis: CopyAxis) -> Span:
    return Span(axis.var, axis.extent, as_int(0), axis.limit)


def _row(printing: Printing, node: Copy, axis: CopyAxis) -> None:
    piece = _piece(printing, node, axis)
    if piece is None:
        _general_row(printing, node, axis)
        return
    row = _Row(printing, node, axis)
    with _named(printing, "low", piece.low) as low, _named(printing, "high", piece.high) as high:
        whole = printing.scope.concrete(both(equal(low, 0), equal(high, piece.limit)))
        if whole.is_constant or not row.is_short(piece.limit):
            row.filled(node.value, low, high, piece.limit)
            return
        with printing.nested((node,), f"if ({printing.scope.text(whole)})"):
            row.run(node.value, as_int(0), piece.limit)
        with printing.nested((node,), "else"):
            row.filled(node.value, low, high, piece.limit)


def _fill(node: Copy) -> Expr:
    return Const(node.fill, node.buffer.dtype)


@contextmanager
def _named(printing: Printing, name: str, value: Int) -> Iterator[Int]:
    """A variable of the text for a bound that is no number."""
    if value.is_constant:
        yield value
        return
    scope = printing.scope
    named = symbol(scope.unique(name), "index")
    printing.writer.line(f"const int64_t {scope.name(named)} = {scope.text(value)};")
    with scope.bound({named: scope.interval(value)}):
        yield named


def _piece(printing: Printing, node: Copy, axis: CopyAxis) -> Piece | None:
    """Where the bounds hold along the innermost axis, or None if that is not an interval we can name."""
    scope = printing.scope
    low, high = as_int(0), scope.concrete(axis.limit)
    limit = high
    for bound in node.bounds:
        within = _within(printing, bound, axis.var)
        if within is None:
            return None
        low, high = maximum(low, within[0]), minimum(high, within[1])
    high = scope.concrete(maximum(high, 0))
    return Piece(scope.concrete(minimum(low, high)), high, limit)


def _within(printing: Printing, bound: Bound, var: Int) -> tuple[Int, Int] | None:
    """first <= var < last where the bound holds; None where the index is not linear and rising in `var`."""
    scope = printing.scope
    low, index, high = (scope.concrete(e) for e in (bound.low, bound.index, bound.high))
    terms, _ = linear(index)
    step = terms.pop(var, 0)
    if step <= 0 or any(var in symbols_of(a) for a in (*terms, low, high)):
        return None
    rest = scope.concrete(index - var * step)
    return ceil_div(low - rest, step), ceil_div(high - rest, step)


def _general_row(printing: Printing, node: Copy, axis: CopyAxis) -> None:
    """One element after another, each under its own condition."""
    target = node.buffer
    scope = printing.scope
    with counted(printing, _span(axis), (node,)) as runs:
        if not runs:
            return
        holds = all_of([c for b in node.bounds for c in _conditions(printing, b)])
        store = access(printing, target, node.indices)
        values = Values(printing)
        with printing.nested((), f"if ({scope.text(scope.concrete(holds))})"):
            value = values.cast(
                value_at(values, node.value, Point({})), computed_dtype(target.dtype)
            )
            store.store(Point({}), value.text)
        with printing.nested((), "else"):
            fill = values.cast(
                value_at(values, _fill(node), Point({})), computed_dtype(target.dtype)
            )
            store.store(Point({}), fill.text)


class _Row:
    """Stores of one expression along a piece of the innermost axis."""

    def __init__(self, printing: Printing, node: Copy, axis: CopyAxis) -> None:
        self._printing = printing
        self._scope = printing.scope
        self._node = node
        self._axis = axis

    def is_short(self, limit: Int) -> bool:
        """Whether a whole row is copied without a loop."""
        if not limit.is_constant:
            return False
        width = self._printing.lanes if self._runs_along(self._node.value) else 1
        return limit.value <= UNROLLED * width

    def filled(self, value: Expr, low: Int, high: Int, limit: Int) -> None:
        fill = _fill(self._node)
        self.run(fill, as_int(0), low)
        self.run(value, low, high)
        self.run(fill, high, limit)

    def run(self, value: Expr, start: Int, stop: Int) -> None:
        """buffer[..] = value for the axis in [start, stop)."""
        length = self._scope.concrete(stop - start)
        if self._scope.interval(length)[1] <= 0:
            return
        along = self._runs_along(value)
        most = UNROLLED * (self._printing.lanes if along else 1)
        if length.is_constant and start.is_constant and length.value <= most:
            self._unrolled(value, start.value, length.value)
        elif along:
            self._looped_by_vectors(value, start, stop)
        else:
            self._looped(value, start, stop, 1)

    def _runs_along(self, value: Expr) -> bool:
        """Whether every access moves by at most one element with the axis."""
        extent = self._scope.upper(self._axis.extent, "an extent of a copy")
        with self._scope.bound({self._axis.var: (0, extent - 1)}):
            target = self._coefficient(self._node.buffer, self._node.indices)
            steps = [
                self._coefficient(x.source, x.indices)
                for x in loads(value)
                if isinstance(x.source, Buffer)
            ]
        return target == 1 and all(s in (0, 1) for s in steps)

    def _coefficient(self, buffer: Buffer, indices: tuple[Int, ...]) -> int | None:
        terms, _ = flat_terms(self._printing, buffer, indices)
        step = terms.pop(self._axis.var, 0)
        return None if any(self._axis.var in symbols_of(a) for a in terms) else step

    def _unrolled(self, value: Expr, start: int, length: int) -> None:
        lanes = self._printing.lanes if self._runs_along(value) else 1
        cuts: list[tuple[int, int]] = []
        offset = start
        while offset < start + length:
            width = lanes
            while width > start + length - offset:
                width //= 2
            cuts.append((offset, width))
            offset += width
        self._statements(value, as_int(0), cuts)

    def _looped_by_vectors(self, value: Expr, start: Int, stop: Int) -> None:
        width = self._printing.lanes
        length = self._scope.interval(self._scope.concrete(stop - start))[1]
        if length < width:
            self._looped(value, start, stop, 1)
            return
        whole = self._scope.concrete(start + (stop - start) // width * width)
        with _named(self._printing, "whole", whole) as middle:
            self._looped(value, start, middle, width)
            self._looped(value, middle, stop, 1)

    def _looped(self, value: Expr, start: Int, stop: Int, step: int) -> None:
        scope, var = self._scope, self._axis.var
        low, high = scope.interval(start)[0], scope.interval(stop)[1]
        if high <= low:
            return
        with scope.bound({var: (low, high - 1)}):
            name = scope.name(var)
            head = f"for (int64_t {name} = {scope.text(start)}; {name} < {scope.text(stop)}; "
            with self._printing.nested((self._node,), f"{head}{name} += {step})"):
                self._statements(value, var, [(0, step)])

    def _statements(self, value: Expr, base: Int, cuts: list[tuple[int, int]]) -> None:
        """Stores at base + offset, one a pair (offset, width), scalar where the width is 1."""
        printing, var = self._printing, self._axis.var
        lane = symbol(f"{var.name}.lane", "index")
        replaced = {var: base + lane}
        chunks = tuple(Chunk(lane, offset, width, width) for offset, width in cuts)
        indices = tuple(substitute(i, replaced) for i in self._node.indices)
        shifted = substitute_indices(value, replaced)
        dtype = computed_dtype(self._node.buffer.dtype)
        with self._scope.with_lanes(Lanes({}, chunks)):
            target = access(printing, self._node.buffer, indices)
            values = Values(printing)
            for chunk in chunks:
                point = Point({lane: chunk.offset}, chunk if chunk.width > 1 else None)
                target.store(point, values.cast(value_at(values, shifted, point), dtype).text)
