"""Integer expressions over symbols: the extents, indices and guards of everything below `graph`.

An expression is immutable and interned: two expressions of the same form are the same object, so `is` and
dictionary look-ups compare them, and one memo shares common parts over a whole table of expressions.
Symbols have one of three kinds: `index` (a loop or axis variable), `decision` (an open number of a sketch) and
`size` (an extent known only at run time).

One table, `OPERATIONS`, gives every operation its meaning on Python ints, on int64 arrays and on intervals.
Constructors fold constants and neutral elements, nothing more; what depends on the range of a symbol is decided by
`fold`, at reading time, when ranges are known. Divisors are positive by contract; a quotient rounds down.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal
from weakref import WeakValueDictionary

import numpy as np

SymbolKind = Literal["index", "decision", "size"]
Interval = tuple[int, int]

UNBOUNDED: Interval = (-(1 << 100), 1 << 100)


class Int:
    """One interned node: an operation with arguments, a constant (`op == "const"`) or a symbol (`op == "symbol"`)."""

    __slots__ = ("__weakref__", "args", "kind", "name", "op", "value")

    op: str
    args: tuple[Int, ...]
    value: int
    name: str
    kind: SymbolKind | Literal[""]

    def __add__(self, other: Int | int) -> Int:
        return _add(self, as_int(other))

    def __radd__(self, other: int) -> Int:
        return _add(as_int(other), self)

    def __sub__(self, other: Int | int) -> Int:
        return _add(self, _multiply(as_int(other), as_int(-1)))

    def __rsub__(self, other: int) -> Int:
        return _add(as_int(other), _multiply(self, as_int(-1)))

    def __mul__(self, other: Int | int) -> Int:
        return _multiply(self, as_int(other))

    def __rmul__(self, other: int) -> Int:
        return _multiply(as_int(other), self)

    def __floordiv__(self, other: Int | int) -> Int:
        return _divide("floordiv", self, as_int(other))

    def __mod__(self, other: Int | int) -> Int:
        divisor = as_int(other)
        if divisor.is_constant and divisor.value == 1:
            return as_int(0)
        return _operation("mod", self, divisor)

    @property
    def is_constant(self) -> bool:
        return self.op == "const"

    @property
    def is_symbol(self) -> bool:
        return self.op == "symbol"

    def __repr__(self) -> str:
        return to_text(self)

    def __bool__(self) -> bool:
        raise TypeError(
            f"the truth of {self!r} is unknown; compare with `is` or fold it with ranges"
        )

    def __reduce__(self) -> tuple[Callable[..., Int], tuple[Any, ...]]:
        return _rebuild, (self.op, self.args, self.value, self.name, self.kind)


@dataclass(frozen=True)
class Operation:
    """Meaning of one operation: on Python ints, on int64 arrays and on intervals (exact or wider)."""

    arity: int
    scalar: Callable[..., int]
    array: Callable[..., Any]
    interval: Callable[..., Interval]
    text: str


def _products(a: Interval, b: Interval) -> Interval:
    corners = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(corners), max(corners)


def _quotients(a: Interval, b: Interval) -> Interval:
    low, high = max(b[0], 1), max(b[1], 1)
    corners = (a[0] // low, a[0] // high, a[1] // low, a[1] // high)
    return min(corners), max(corners)


def _ceil_quotients(a: Interval, b: Interval) -> Interval:
    low, high = _quotients((-a[1], -a[0]), b)
    return -high, -low


def _remainders(a: Interval, b: Interval) -> Interval:
    if b[0] == b[1] and b[0] > 0 and a[0] // b[0] == a[1] // b[0]:
        return a[0] % b[0], a[1] % b[0]
    high = max(b[1], 1) - 1
    return (0, min(a[1], high)) if a[0] >= 0 else (0, high)


def _truth(known_true: bool, known_false: bool) -> Interval:
    return (1, 1) if known_true else (0, 0) if known_false else (0, 1)


def _selected(c: Interval, a: Interval, b: Interval) -> Interval:
    if c[0] == c[1]:
        return a if c[0] else b
    return min(a[0], b[0]), max(a[1], b[1])


def _bits(a: Interval, b: Interval) -> Interval:
    if min(a[0], b[0]) < 0:
        return UNBOUNDED
    return 0, (1 << max(a[1].bit_length(), b[1].bit_length())) - 1


OPERATIONS: dict[str, Operation] = {
    "add": Operation(
        2, operator.add, np.add, lambda a, b: (a[0] + b[0], a[1] + b[1]), "({0} + {1})"
    ),
    "mul": Operation(2, operator.mul, np.multiply, _products, "{0}*{1}"),
    "floordiv": Operation(2, operator.floordiv, np.floor_divide, _quotients, "({0} / {1})"),
    "ceildiv": Operation(
        2,
        lambda a, b: -(-a // b),
        lambda a, b: -np.floor_divide(np.negative(a), b),
        _ceil_quotients,
        "ceildiv({0}, {1})",
    ),
    "mod": Operation(2, operator.mod, np.remainder, _remainders, "({0} % {1})"),
    "min": Operation(
        2, min, np.minimum, lambda a, b: (min(a[0], b[0]), min(a[1], b[1])), "min({0}, {1})"
    ),
    "max": Operation(
        2, max, np.maximum, lambda a, b: (max(a[0], b[0]), max(a[1], b[1])), "max({0}, {1})"
    ),
    "lt": Operation(
        2,
        lambda a, b: int(a < b),
        lambda a, b: np.less(a, b).astype(np.int64),
        lambda a, b: _truth(a[1] < b[0], a[0] >= b[1]),
        "({0} < {1})",
    ),
    "le": Operation(
        2,
        lambda a, b: int(a <= b),
        lambda a, b: np.less_equal(a, b).astype(np.int64),
        lambda a, b: _truth(a[1] <= b[0], a[0] > b[1]),
        "({0} <= {1})",
    ),
    "eq": Operation(
        2,
        lambda a, b: int(a == b),
        lambda a, b: np.equal(a, b).astype(np.int64),
        lambda a, b: _truth(a[0] == a[1] == b[0] == b[1], a[1] < b[0] or b[1] < a[0]),
        "({0} == {1})",
    ),
    "and": Operation(
        2,
        lambda a, b: int(bool(a) and bool(b)),
        lambda a, b: np.logical_and(a, b).astype(np.int64),
        lambda a, b: _truth(a == (1, 1) and b == (1, 1), a == (0, 0) or b == (0, 0)),
        "({0} && {1})",
    ),
    "xor": Operation(2, operator.xor, np.bitwise_xor, _bits, "({0} ^ {1})"),
    "select": Operation(
        3,
        lambda c, a, b: a if c else b,
        lambda c, a, b: np.where(np.not_equal(c, 0), a, b),
        _selected,
        "select({0}, {1}, {2})",
    ),
}

_interned: WeakValueDictionary[tuple[Any, ...], Int] = WeakValueDictionary()


def _make(
    op: str, args: tuple[Int, ...], value: int, name: str, kind: SymbolKind | Literal[""]
) -> Int:
    key = (op, args, value, name, kind)
    found = _interned.get(key)
    if found is not None:
        return found
    node = object.__new__(Int)
    node.op, node.args, node.value, node.name, node.kind = op, args, value, name, kind
    return _interned.setdefault(key, node)


def _rebuild(
    op: str, args: tuple[Int, ...], value: int, name: str, kind: SymbolKind | Literal[""]
) -> Int:
    return _make(op, args, value, name, kind)


def as_int(value: Int | int) -> Int:
    """The expression itself, or the constant `value`."""
    return value if isinstance(value, Int) else _make("const", (), int(value), "", "")


def symbol(name: str, kind: SymbolKind) -> Int:
    """The symbol of this name and kind; equal names of one kind are one symbol."""
    return _make("symbol", (), 0, name, kind)


def _operation(op: str, *args: Int) -> Int:
    if all(a.is_constant for a in args):
        return as_int(OPERATIONS[op].scalar(*(a.value for a in args)))
    return _make(op, args, 0, "", "")


def _add(a: Int, b: Int) -> Int:
    if a.is_constant:
        a, b = b, a
    if b.is_constant:
        if b.value == 0:
            return a
        if a.op == "add" and a.args[1].is_constant:
            return _add(a.args[0], as_int(a.args[1].value + b.value))
    return _operation("add", a, b)


def _multiply(a: Int, b: Int) -> Int:
    if a.is_constant:
        a, b = b, a
    if b.is_constant:
        if b.value in (0, 1):
            return a if b.value else b
        if a.op == "mul" and a.args[1].is_constant:
            return _multiply(a.args[0], as_int(a.args[1].value * b.value))
    return _operation("mul", a, b)


def _divide(op: str, a: Int, b: Int) -> Int:
    if (b.is_constant and b.value == 1) or (a.is_constant and a.value == 0):
        return a
    return _operation(op, a, b)


def ceil_div(a: Int | int, b: Int | int) -> Int:
    """The quotient a / b rounded up."""
    return _divide("ceildiv", as_int(a), as_int(b))


def minimum(a: Int | int, b: Int | int) -> Int:
    x, y = as_int(a), as_int(b)
    return x if x is y else _operation("min", x, y)


def maximum(a: Int | int, b: Int | int) -> Int:
    x, y = as_int(a), as_int(b)
    return x if x is y else _operation("max", x, y)


def less(a: Int | int, b: Int | int) -> Int:
    """1 where a < b, else 0."""
    return _operation("lt", as_int(a), as_int(b))


def less_equal(a: Int | int, b: Int | int) -> Int:
    """1 where a <= b, else 0."""
    return _operation("le", as_int(a), as_int(b))


def equal(a: Int | int, b: Int | int) -> Int:
    """1 where a == b, else 0."""
    return _operation("eq", as_int(a), as_int(b))


def both(a: Int | int, b: Int | int) -> Int:
    """1 where both conditions hold, else 0; operands are 0 or 1."""
    x, y = as_int(a), as_int(b)
    for known, rest in ((x, y), (y, x)):
        if known.is_constant:
            return rest if known.value else known
    return x if x is y else _operation("and", x, y)


def exclusive_or(a: Int | int, b: Int | int) -> Int:
    """Bitwise exclusive or of two non-negative integers (swizzled layouts)."""
    return _operation("xor", as_int(a), as_int(b))


def select(condition: Int | int, a: Int | int, b: Int | int) -> Int:
    """`a` where the condition is not 0, else `b`."""
    c = as_int(condition)
    if c.is_constant:
        return as_int(a) if c.value else as_int(b)
    return _operation("select", c, as_int(a), as_int(b))


def product(factors: list[Int] | tuple[Int, ...]) -> Int:
    result = as_int(1)
    for factor in factors:
        result = result * factor
    return result


def all_of(conditions: list[Int] | tuple[Int, ...]) -> Int:
    result = as_int(1)
    for condition in conditions:
        result = both(result, condition)
    return result


Values = Mapping[Int, Any]


def evaluate(expression: Int, values: Values, memo: dict[Int, Any] | None = None) -> Any:
    """Value of the expression: an int if every symbol has an int, else an int64 array.

    `memo` may be shared between calls with the same `values`. A symbol without a value is a KeyError.
    """
    memo = {} if memo is None else memo
    found = memo.get(expression)
    if found is not None:
        return found
    if expression.is_constant:
        return expression.value
    if expression.is_symbol:
        result = values[expression]
    else:
        operation = OPERATIONS[expression.op]
        args = [evaluate(a, values, memo) for a in expression.args]
        arrays = any(isinstance(a, np.ndarray) for a in args)
        result = (operation.array if arrays else operation.scalar)(*args)
    memo[expression] = result
    return result


def substitute(
    expression: Int, replacement: Mapping[Int, Int], memo: dict[Int, Int] | None = None
) -> Int:
    """The expression with symbols replaced, constants folded again."""
    memo = {} if memo is None else memo
    found = memo.get(expression)
    if found is not None:
        return found
    if expression.is_symbol:
        result = replacement.get(expression, expression)
    elif expression.is_constant:
        return expression
    else:
        result = rebuilt(
            expression.op, *(substitute(a, replacement, memo) for a in expression.args)
        )
    memo[expression] = result
    return result


_CONSTRUCTORS: dict[str, Callable[..., Int]] = {
    "add": _add,
    "mul": _multiply,
    "floordiv": lambda a, b: a // b,
    "ceildiv": ceil_div,
    "mod": lambda a, b: a % b,
    "min": minimum,
    "max": maximum,
    "lt": less,
    "le": less_equal,
    "eq": equal,
    "and": both,
    "xor": exclusive_or,
    "select": select,
}


def rebuilt(op: str, *args: Int) -> Int:
    """The operation `op` of new arguments, through its folding constructor."""
    return _CONSTRUCTORS[op](*args)


@lru_cache(maxsize=1 << 16)
def symbols(expression: Int) -> frozenset[Int]:
    """Every symbol that occurs in the expression."""
    if expression.is_symbol:
        return frozenset((expression,))
    return frozenset[Int]().union(*map(symbols, expression.args))


def to_text(expression: Int) -> str:
    """Readable text; also the canonical text that content keys are made of."""
    if expression.is_constant:
        return str(expression.value)
    if expression.is_symbol:
        return expression.name
    return OPERATIONS[expression.op].text.format(*(to_text(a) for a in expression.args))
