"""Scalar expressions: what one element of a stage is computed from.

Nodes are frozen records, compared by structure (loads by the identity of what they read). Two tables, `UNARY` and
`BINARY`, name every operation with its NumPy meaning; the text reader has a C and a CUDA table over the same names.
Maximum and minimum propagate NaN, as NumPy's do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from autosched.te.dtype import DTYPES, is_float
from autosched.te.integer import Int, as_int, substitute, symbols, to_text


class Source(Protocol):
    """Anything that can be loaded from: a tensor of te or a buffer of a nest."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[Int, ...]: ...
    @property
    def dtype(self) -> str: ...


class Expr:
    """A scalar expression; every node has a `dtype` and its operands in `operands`."""

    @property
    def dtype(self) -> str:
        raise NotImplementedError

    @property
    def operands(self) -> tuple[Expr, ...]:
        return ()

    def __add__(self, other: Expr | float) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: float) -> Expr:
        return binary("add", as_expr(other, self.dtype), self)

    def __sub__(self, other: Expr | float) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: float) -> Expr:
        return binary("sub", as_expr(other, self.dtype), self)

    def __mul__(self, other: Expr | float) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: float) -> Expr:
        return binary("mul", as_expr(other, self.dtype), self)

    def __truediv__(self, other: Expr | float) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: float) -> Expr:
        return binary("div", as_expr(other, self.dtype), self)

    def __neg__(self) -> Expr:
        return Unary("neg", self)


@dataclass(frozen=True)
class Const(Expr):
    value: float | int | bool
    type: str

    @property
    def dtype(self) -> str:
        return self.type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and _bits(self) == _bits(other)

    def __hash__(self) -> int:
        return hash(_bits(self))


def _bits(constant: Const) -> tuple[str, str]:
    """Distinguishes 0.0 from -0.0 and equals NaN to NaN."""
    if is_float(constant.type):
        return constant.type, float(constant.value).hex()
    return constant.type, str(int(constant.value))


@dataclass(frozen=True)
class Variable(Expr):
    """A named scalar: an argument of a combiner or a register temporary."""

    name: str
    type: str

    @property
    def dtype(self) -> str:
        return self.type


@dataclass(frozen=True)
class Index(Expr):
    """An integer expression as a value (dtype int64), or a comparison of indices as a condition (dtype bool)."""

    index: Int
    type: str = "int64"

    @property
    def dtype(self) -> str:
        return self.type


@dataclass(frozen=True, eq=False)
class Load(Expr):
    """The element of `source` at `indices`, one integer expression a dimension."""

    source: Source
    indices: tuple[Int, ...]

    @property
    def dtype(self) -> str:
        return self.source.dtype

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Load)
            and self.source is other.source
            and len(self.indices) == len(other.indices)
            and all(a is b for a, b in zip(self.indices, other.indices, strict=True))
        )

    def __hash__(self) -> int:
        return hash((id(self.source), self.indices))


@dataclass(frozen=True)
class Unary(Expr):
    op: str
    a: Expr

    @property
    def dtype(self) -> str:
        return UNARY[self.op].dtype or self.a.dtype

    @property
    def operands(self) -> tuple[Expr, ...]:
        return (self.a,)


@dataclass(frozen=True)
class Binary(Expr):
    op: str
    a: Expr
    b: Expr

    @property
    def dtype(self) -> str:
        return BINARY[self.op].dtype or self.a.dtype

    @property
    def operands(self) -> tuple[Expr, ...]:
        return (self.a, self.b)


@dataclass(frozen=True)
class Select(Expr):
    """`a` where the condition (dtype bool) holds, else `b`; the side not taken is never read."""

    condition: Expr
    a: Expr
    b: Expr

    @property
    def dtype(self) -> str:
        return self.a.dtype

    @property
    def operands(self) -> tuple[Expr, ...]:
        return (self.condition, self.a, self.b)


@dataclass(frozen=True)
class Cast(Expr):
    type: str
    a: Expr

    @property
    def dtype(self) -> str:
        return self.type

    @property
    def operands(self) -> tuple[Expr, ...]:
        return (self.a,)


@dataclass(frozen=True)
class ScalarOperation:
    """Meaning on NumPy arrays; `dtype` of the result where it is not that of the first operand; `operations` counted
    for one element (a transcendental call counts one, as in Ansor's FLOP count)."""

    numpy: Callable[..., Any]
    dtype: str = ""
    operations: int = 1


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(np.asarray(x).dtype)


def _sigmoid(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _quotient(a: Any, b: Any) -> Any:
    """Integers divide towards zero, as C does; a division by zero gives zero."""
    if not np.issubdtype(np.result_type(a, b), np.integer):
        return np.divide(a, b)
    divisor = np.where(np.equal(b, 0), 1, b)
    towards_zero = np.floor_divide(np.abs(a), np.abs(divisor)) * np.sign(a) * np.sign(divisor)
    return np.where(np.equal(b, 0), 0, towards_zero).astype(np.result_type(a, b))


UNARY: dict[str, ScalarOperation] = {
    "neg": ScalarOperation(np.negative),
    "abs": ScalarOperation(np.abs),
    "exp": ScalarOperation(np.exp),
    "log": ScalarOperation(np.log),
    "tanh": ScalarOperation(np.tanh),
    "erf": ScalarOperation(_erf),
    "sqrt": ScalarOperation(np.sqrt),
    "rsqrt": ScalarOperation(lambda x: 1 / np.sqrt(x)),
    "sigmoid": ScalarOperation(_sigmoid),
    "floor": ScalarOperation(np.floor),
    "ceil": ScalarOperation(np.ceil),
    "sin": ScalarOperation(np.sin),
    "cos": ScalarOperation(np.cos),
    "sign": ScalarOperation(np.sign),
    "not": ScalarOperation(np.logical_not, dtype="bool"),
    "isnan": ScalarOperation(np.isnan, dtype="bool"),
}

BINARY: dict[str, ScalarOperation] = {
    "add": ScalarOperation(np.add),
    "sub": ScalarOperation(np.subtract),
    "mul": ScalarOperation(np.multiply),
    "div": ScalarOperation(_quotient),
    "min": ScalarOperation(np.minimum),
    "max": ScalarOperation(np.maximum),
    "pow": ScalarOperation(np.power),
    "lt": ScalarOperation(np.less, dtype="bool"),
    "le": ScalarOperation(np.less_equal, dtype="bool"),
    "gt": ScalarOperation(np.greater, dtype="bool"),
    "ge": ScalarOperation(np.greater_equal, dtype="bool"),
    "eq": ScalarOperation(np.equal, dtype="bool"),
    "ne": ScalarOperation(np.not_equal, dtype="bool"),
    "and": ScalarOperation(np.logical_and, dtype="bool"),
    "or": ScalarOperation(np.logical_or, dtype="bool"),
}


def as_expr(value: Expr | float, dtype: str) -> Expr:
    """The expression itself, or the constant `value` of this dtype."""
    return value if isinstance(value, Expr) else Const(value, dtype)


def binary(op: str, a: Expr, b: Expr | float) -> Expr:
    """The operation on two expressions of one dtype; a Python number takes the dtype of `a`."""
    right = as_expr(b, a.dtype)
    if a.dtype != right.dtype:
        raise TypeError(f"{op} of {a.dtype} and {right.dtype}: cast one side explicitly")
    return Binary(op, a, right)


def maximum_of(a: Expr, b: Expr | float) -> Expr:
    return binary("max", a, b)


def minimum_of(a: Expr, b: Expr | float) -> Expr:
    return binary("min", a, b)


def call(op: str, a: Expr) -> Expr:
    """A unary operation by its name in `UNARY`."""
    if op not in UNARY:
        raise KeyError(f"unknown unary operation {op!r}; known: {', '.join(sorted(UNARY))}")
    return Unary(op, a)


def cast(dtype: str, a: Expr) -> Expr:
    """`a` converted to `dtype`; itself if it has that dtype already."""
    if dtype not in DTYPES:
        raise KeyError(f"unknown dtype {dtype!r}; known: {', '.join(DTYPES)}")
    return a if a.dtype == dtype else Cast(dtype, a)


def condition(index: Int) -> Expr:
    """A comparison of indices as a condition."""
    return Index(as_int(index), "bool")


def with_operands(expression: Expr, operands: tuple[Expr, ...]) -> Expr:
    """The same node over new operands."""
    match expression:
        case Unary():
            return replace(expression, a=operands[0])
        case Cast():
            return replace(expression, a=operands[0])
        case Binary():
            return replace(expression, a=operands[0], b=operands[1])
        case Select():
            return Select(*operands)
    return expression


def transform(expression: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """The expression with every leaf (constant, variable, index, load) replaced by `leaf(it)`, bottom up."""
    if not expression.operands:
        return leaf(expression)
    return with_operands(expression, tuple(transform(o, leaf) for o in expression.operands))


def substitute_indices(expression: Expr, replacement: Mapping[Int, Int]) -> Expr:
    """The expression with index symbols replaced in every load and index."""
    memo: dict[Int, Int] = {}

    def leaf(node: Expr) -> Expr:
        match node:
            case Load(source, indices):
                return Load(source, tuple(substitute(i, replacement, memo) for i in indices))
            case Index(index, dtype):
                return Index(substitute(index, replacement, memo), dtype)
        return node

    return transform(expression, leaf)


def loads(expression: Expr) -> tuple[Load, ...]:
    """Every load in the expression, in reading order, repeated if it occurs twice."""
    if isinstance(expression, Load):
        return (expression,)
    return tuple(load for operand in expression.operands for load in loads(operand))


def index_values(expression: Expr) -> Iterator[Int]:
    """Every index that stands in the expression as a value or a condition, those of loads left out."""
    if isinstance(expression, Index):
        yield expression.index
    for operand in expression.operands:
        yield from index_values(operand)


def index_symbols(expression: Expr) -> frozenset[Int]:
    """Every symbol in an index or load of the expression."""
    match expression:
        case Load(_, indices):
            return frozenset().union(*(symbols(i) for i in indices)) if indices else frozenset()
        case Index(index, _):
            return symbols(index)
    found: frozenset[Int] = frozenset()
    for operand in expression.operands:
        found |= index_symbols(operand)
    return found


def operation_count(expression: Expr) -> int:
    """Operations for one element: arithmetic, comparisons and calls; index arithmetic is not counted."""
    own = 0
    match expression:
        case Unary(op, _):
            own = UNARY[op].operations
        case Binary(op, _, _):
            own = BINARY[op].operations
    return own + sum(operation_count(o) for o in expression.operands)


def expr_text(expression: Expr) -> str:
    """Readable text of an expression; canonical given canonical names."""
    match expression:
        case Const():
            return f"{_bits(expression)[1]}:{expression.type}"
        case Variable(name, _):
            return name
        case Index(index, _):
            return to_text(index)
        case Load(source, indices):
            return f"{source.name}[{', '.join(to_text(i) for i in indices)}]"
        case Cast(dtype, a):
            return f"{dtype}({expr_text(a)})"
        case Select():
            return f"select({', '.join(expr_text(o) for o in expression.operands)})"
        case Unary(op, _) | Binary(op, _, _):
            return f"{op}({', '.join(expr_text(o) for o in expression.operands)})"
    raise TypeError(f"no text for {type(expression).__name__}")
