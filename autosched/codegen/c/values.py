"""Scalar expressions at a point as C: scalars, or vectors as wide as the point's chunk.

Every operand is as wide as the point; what does not vary along the vector is splat where it is loaded. Conditions are
ints in scalars, int32 masks in vectors. Below a select on indices nothing is loaded ahead: the side not taken may lie
outside the buffer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from autosched.codegen.c.accesses import Access, Conversion, Value, access, computed_dtype
from autosched.codegen.c.lanes import Chunk, Point
from autosched.codegen.c.operations import BINARY_C, CLAMP_C, CLAMP_NAMES, UNARY_C, OperationC
from autosched.codegen.c.prelude import ELEMENTS, has_vector_form
from autosched.codegen.c.printing import Printing
from autosched.nest.nodes import Buffer
from autosched.te.dtype import is_float
from autosched.te.expr import (
    BINARY,
    UNARY,
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
from autosched.te.integer import Int, as_int, substitute
from autosched.te.integer import symbols as symbols_of
from autosched.te.interval import fold, linear

NARROW = ("int8", "uint8")


class Values:
    """Prints expressions of one statement; prepared accesses are shared between its points."""

    def __init__(self, printing: Printing) -> None:
        self._printing = printing
        self._prelude = printing.prelude
        self._scope = printing.scope
        self._accesses: dict[int, Access] = {}
        self._kept: list[Expr] = []

    def at(
        self, expression: Expr, point: Point, bindings: Mapping[str, Value] | None = None
    ) -> Value:
        """The values of an expression at a point; `bindings` gives its named scalars."""
        return _AtPoint(self, point, bindings or {}).value(expression)

    def together(self, expressions: tuple[Expr, ...], bindings: Mapping[str, Value]) -> list[Value]:
        """Expressions over named values of one width; what they share is computed once."""
        width = next(iter(bindings.values())).width
        chunk = Chunk(as_int(0), 0, width, width) if width > 1 else None
        at = _AtPoint(self, Point({}, chunk), bindings)
        return [at.value(e) for e in expressions]

    def named(self, value: Value) -> Value:
        """The value in a temporary, so that it may be used often; a variable is one already."""
        if value.text.isidentifier():
            return value
        name = self._printing.writer.temporary()
        type_name = self._prelude.type_name(value.dtype, value.width)
        self._printing.writer.line(f"const {type_name} {name} = {value.text};")
        return Value(name, value.dtype, value.width)

    def access(self, load: Load) -> Access:
        found = self._accesses.get(id(load))
        if found is None:
            assert isinstance(load.source, Buffer), f"{load.source.name} is no buffer of the nest"
            found = self._accesses[id(load)] = access(self._printing, load.source, load.indices)
            self._kept.append(load)
        return found

    def cast(self, value: Value, dtype: str) -> Value:
        """The values converted to a dtype."""
        target = computed_dtype(dtype)
        text, width = value.text, value.width
        if value.dtype != target:
            text = self._converted(value, target)
        if dtype != target:
            convert = Conversion(self._printing, dtype)
            text = convert.loaded(convert.stored(text, width), width)
        return Value(text, target, width)

    def _converted(self, value: Value, target: str) -> str:
        text, width = value.text, value.width
        type_name = self._prelude.type_name(target, width)
        if width == 1:
            return f"({text} != 0)" if target == "bool" else f"({type_name}){text}"
        if target == "bool":
            return self.as_mask(f"({text} != 0)", value.dtype, width)
        if value.dtype == "bool":
            text = f"(-{text})"
            if target == "int32":
                return text
        return f"__builtin_convertvector({text}, {type_name})"

    def as_mask(self, comparison: str, dtype: str, width: int) -> str:
        """The int32 mask of a comparison of vectors of `dtype`."""
        if ELEMENTS[dtype].n_bytes == 4:
            return comparison
        return f"__builtin_convertvector({comparison}, {self._prelude.of_letter('i', width)})"

    def operation(self, op: str, operands: tuple[Value, ...]) -> Value:
        """An operation of the tables on values of one dtype."""
        table = UNARY_C if len(operands) == 1 else BINARY_C
        form, dtype, width = table[op], operands[0].dtype, operands[0].width
        meaning = (UNARY if len(operands) == 1 else BINARY)[op]
        text = self._operation_text(op, form, operands)
        if meaning.dtype == "bool" and width > 1 and dtype != "bool":
            text = self.as_mask(text, dtype, width)
        elif dtype in NARROW and width == 1 and not meaning.dtype:
            text = f"({ELEMENTS[dtype].computed}){text}"
        return Value(text, meaning.dtype or dtype, width)

    def clamp(self, op: str, x: Value, y: Value) -> Value:
        """An extremum with a `y` known to be no NaN."""
        form, name = CLAMP_C[op], CLAMP_NAMES[op]
        if x.width == 1:
            function = self._prelude.scalar_function(name, form, x.dtype)
        else:
            function = self._prelude.function(name, x.dtype, x.width)
        return Value(f"{function}({x.text}, {y.text})", x.dtype, x.width)

    def _operation_text(self, op: str, form: OperationC, operands: tuple[Value, ...]) -> str:
        dtype, width = operands[0].dtype, operands[0].width
        texts = [o.text for o in operands]
        if form.infix and (is_float(dtype) or not form.integer):
            return (form.mask if form.mask and width > 1 else form.infix).format(*texts)
        if width == 1:
            name = self._prelude.scalar_function(op, form, dtype)
        elif has_vector_form(op, form, dtype):
            name = self._prelude.function(op, dtype, width)
        else:
            name = self._prelude.lanewise(op, form, dtype, width)
        return f"{name}({', '.join(texts)})"

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """`a` where the condition holds, else `b`, both computed."""
        if a.width == 1:
            return Value(f"({condition.text} ? {a.text} : {b.text})", a.dtype, 1)
        mask = condition.text
        if ELEMENTS[a.dtype].n_bytes != 4:
            mask_type = self._prelude.mask_name(a.dtype, a.width)
            mask = f"__builtin_convertvector({mask}, {mask_type})"
        name = self._prelude.function("select", a.dtype, a.width)
        return Value(f"{name}({mask}, {a.text}, {b.text})", a.dtype, a.width)

    def constant(self, value: float, dtype: str, width: int) -> Value:
        """A constant as a value of this width."""
        computed = computed_dtype(dtype)
        if width == 1:
            return Value(literal(value, computed), computed, 1)
        if computed == "bool":
            return Value(self._splat("int32", "-1" if value else "0", width), computed, width)
        return Value(self._splat(computed, literal(value, computed), width), computed, width)

    def _splat(self, dtype: str, text: str, width: int) -> str:
        return f"{self._prelude.function('splat', dtype, width)}({text})"

    def condition_text(self, index: Int, point: Point) -> str:
        """A comparison of indices at the point's first lane, as a C condition."""
        return self._scope.text(self.index_at(index, point))

    def index_at(self, index: Int, point: Point) -> Int:
        fixed = {s: as_int(v) for s, v in point.values.items()}
        given = substitute(self._scope.concrete(index), fixed)
        return fold(given, self._scope.ranges)

    def index(self, node: Index, point: Point) -> Value:
        """An index expression as a value: along a vector, first + lane * step where it is linear."""
        scalar = self._scope.text(self.index_at(node.index, point))
        if point.chunk is None:
            return Value(scalar if node.dtype == "bool" else f"(int64_t){scalar}", node.dtype, 1)
        width = point.chunk.width
        lanes = [self.index_at(node.index, point.lane(i)) for i in range(width)]
        if all(lane is lanes[0] for lane in lanes):
            return self._uniform_index(node, scalar, width)
        if node.dtype == "bool":
            texts = [f"-{self._scope.text(x)}" for x in lanes]
            return Value(
                f"({self._prelude.of_letter('i', width)}){{{', '.join(texts)}}}", "bool", width
            )
        return Value(self._lane_indices(lanes, scalar, width), "int64", width)

    def _uniform_index(self, node: Index, scalar: str, width: int) -> Value:
        if node.dtype == "bool":
            return Value(self._splat("int32", f"-{scalar}", width), "bool", width)
        return Value(self._splat("int64", scalar, width), "int64", width)

    def _lane_indices(self, lanes: list[Int], scalar: str, width: int) -> str:
        steps = [linear(x - lanes[0]) for x in lanes]
        type_name = self._prelude.type_name("int64", width)
        if any(terms for terms, _ in steps):
            return f"({type_name}){{{', '.join(self._scope.text(x) for x in lanes)}}}"
        offsets = ", ".join(str(constant) for _, constant in steps)
        return f"({self._splat('int64', scalar, width)} + ({type_name}){{{offsets}}})"


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
        if len(value.text) > 60:
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
        type_name = self._values._prelude.type_name(dtype, chunk.width)
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


def literal(value: float, dtype: str) -> str:
    """A scalar constant in C."""
    if not is_float(dtype):
        number = int(value)
        if dtype == "int64" and number == -(1 << 63):
            return "(-9223372036854775807 - 1)"
        if dtype == "int32" and number == -(1 << 31):
            return "(-2147483647 - 1)"
        return str(number) if number >= 0 else f"({number})"
    suffix = "f" if dtype == "float32" else ""
    number_ = float(value)
    if math.isnan(number_):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(number_):
        return f"__builtin_inf{suffix}()" if number_ > 0 else f"(-__builtin_inf{suffix}())"
    return f"{number_!r}{suffix}" if math.copysign(1, number_) > 0 else f"({number_!r}{suffix})"
