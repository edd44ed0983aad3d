"""Scalar expressions at a point as C: scalars, or vectors as wide as the point's chunk.

Every operand is as wide as the point; what does not vary along the vector is splat where it is loaded. Below a select
on indices nothing is loaded ahead: the side not taken may lie outside the buffer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from autosched.codegen.c.conversions import Value, computed_dtype
from autosched.codegen.c.lanes import Chunk, Point
from autosched.codegen.c.values import Values
from autosched.te.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Load,
    Select,
    Unary,
    Variable,
    index_symbols,
)
from autosched.te.integer import Int, as_int
from autosched.te.integer import symbols as symbols_of
from autosched.te.interval import linear

LONG_TEXT = 60
"""Characters from which on a value gets a name."""


def value_at(values: Values, expression: Expr, point: Point) -> Value:
    """The values of an expression at a point."""
    return _AtPoint(values, point, {}).value(expression)


def together(
    values: Values, expressions: tuple[Expr, ...], bindings: Mapping[str, Value]
) -> list[Value]:
    """Expressions over named values of one width; what they share is computed once."""
    width = next(iter(bindings.values())).width
    chunk = Chunk(as_int(0), 0, width, width) if width > 1 else None
    at = _AtPoint(values, Point({}, chunk), bindings)
    return [at.value(e) for e in expressions]


class _AtPoint:
    """One expression at one point. `inline`: nothing is put into temporaries."""

    def __init__(
        self,
        values: Values,
        point: Point,
        bindings: Mapping[str, Value],
        *,
        inline: bool = False,
    ) -> None:
        self._values = values
        self._point = point
        self._bindings = bindings
        self._inline = inline
        self._seen: dict[int, Value] = {}

    def value(self, expression: Expr) -> Value:
        found = self._seen.get(id(expression))
        if found is not None:
            return found
        result = self._new(expression)
        if not self._inline and expression.operands:
            result = self._shared(expression, result)
        return result

    def _shared(self, expression: Expr, value: Value) -> Value:
        """A value that is long and may be asked for again gets a name."""
        if len(value.text) > LONG_TEXT:
            value = self._values.named(value)
        self._seen[id(expression)] = value
        return value

    def _new(self, expression: Expr) -> Value:
        width = self._point.width
        match expression:
            case Const(value, dtype):
                return self._values.constant(value, dtype, width)
            case Variable(name, _):
                return self._bindings[name]
            case Index():
                return self._values.index(expression, self._point)
            case Load():
                text = self._values.access(expression).load(self._point, inline=self._inline)
                return Value(text, computed_dtype(expression.dtype), width)
            case Cast(dtype, a):
                return self._values.cast(self.value(a), dtype)
            case Select():
                return self._select(expression)
            case Binary(("max" | "min") as op, a, b) if _is_number(b):
                return self._values.clamp(op, self.value(a), self.value(b))
            case Unary(op, _) | Binary(op, _, _):
                operands = tuple(self.value(o) for o in expression.operands)
                return self._values.operation(op, operands)
        raise TypeError(f"no C for {type(expression).__name__}")

    def _select(self, node: Select) -> Value:
        if not _has_index_condition(node.condition):
            condition, a, b = (self.value(o) for o in node.operands)
            return self._values.select(condition, a, b)
        known = self._known(node.condition)
        if known is not None:
            return self.value(node.a if known else node.b)
        if self._point.chunk is None or self._is_uniform(node.condition):
            return self._branch(node)
        return self._varying(node)

    def _known(self, condition: Expr) -> bool | None:
        """The truth of a condition on indices where the ranges decide it, at every lane alike."""
        if not isinstance(condition, Index):
            return None
        points = (
            [self._point.lane(i) for i in range(self._point.chunk.valid)]
            if (self._point.chunk)
            else [self._point]
        )
        found = {self._values.index_at(condition.index, p) for p in points}
        only = found.pop()
        return bool(only.value) if not found and only.is_constant else None

    def _is_uniform(self, condition: Expr) -> bool:
        assert self._point.chunk is not None
        return self._point.chunk.symbol not in index_symbols(condition) and _only_indices(condition)

    def _branch(self, node: Select) -> Value:
        """One scalar condition decides; each side is read only where it is taken."""
        first = Point(self._point.values)
        condition = _AtPoint(self._values, first, self._bindings, inline=True).value(node.condition)
        inline = _AtPoint(self._values, self._point, self._bindings, inline=True)
        a, b = inline.value(node.a), inline.value(node.b)
        return Value(f"({condition.text} ? {a.text} : {b.text})", a.dtype, a.width)

    def _varying(self, node: Select) -> Value:
        """A condition on the vector lane: whole vectors where both ends agree and so all between do, else lane by
        lane.

            first && last ? vector of a : !first && !last ? vector of b : (v8f){c0 ? a0 : b0, c1 ? a1 : b1, ..}
        """
        lanes = self._lane_by_lane(node)
        chunk = self._point.chunk
        if chunk is None or not isinstance(node.condition, Index):
            return lanes
        kind = _shape_along(
            self._values.index_at(node.condition.index, self._scalars()), chunk.symbol
        )
        if kind == "any":
            return lanes
        first, last = (
            self._values.condition_text(node.condition.index, self._point.lane(i))
            for i in (0, chunk.valid - 1)
        )
        if "0" in (first, last):
            return lanes
        inline = _AtPoint(self._values, self._point, self._bindings, inline=True)
        text = lanes.text
        if kind == "monotone":
            text = f"!{first} && !{last} ? {inline.value(node.b).text} : {text}"
        text = f"({first} && {last} ? {inline.value(node.a).text} : {text})"
        return Value(text, lanes.dtype, lanes.width)

    def _scalars(self) -> Point:
        """The point with the vector lane left open."""
        assert self._point.chunk is not None
        symbol = self._point.chunk.symbol
        return Point({s: v for s, v in self._point.values.items() if s is not symbol})

    def _lane_by_lane(self, node: Select) -> Value:
        chunk = self._point.chunk
        assert chunk is not None
        dtype = computed_dtype(node.dtype)
        negated = "-" if dtype == "bool" else ""
        parts = []
        for i in range(chunk.valid):
            lane = _AtPoint(self._values, self._point.lane(i), self._bindings, inline=True)
            parts.append(negated + lane.value(node).text)
        parts += ["0"] * (chunk.width - chunk.valid)
        type_name = self._values.type_name(dtype, chunk.width)
        return Value(f"({type_name}){{{', '.join(parts)}}}", dtype, chunk.width)


def _shape_along(condition: Int, symbol: Int) -> str:
    """How a condition behaves along a symbol: "monotone" (one inequality: both truths are intervals), "interval"
    (inequalities and-ed: where it holds is one), or "any"."""
    if condition.op in ("lt", "le"):
        terms = [linear(a)[0] for a in condition.args]
        nested = any(a.args and symbol in symbols_of(a) for part in terms for a in part)
        return "any" if nested else "monotone"
    if condition.op == "and":
        parts = {_shape_along(a, symbol) for a in condition.args if symbol in symbols_of(a)}
        return "any" if "any" in parts else "interval"
    return "any"


def _has_index_condition(condition: Expr) -> bool:
    if isinstance(condition, Index):
        return True
    return any(_has_index_condition(o) for o in condition.operands)


def _is_number(expression: Expr) -> bool:
    """Whether the expression is a constant that is no NaN."""
    return isinstance(expression, Const) and not math.isnan(float(expression.value))


def _only_indices(condition: Expr) -> bool:
    if not condition.operands:
        return isinstance(condition, (Index, Const))
    return all(_only_indices(o) for o in condition.operands)
