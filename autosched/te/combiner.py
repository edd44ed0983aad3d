"""Reduction combiners: an identity and an associative, commutative combination of tuples.

A reduction carries a tuple of values. Width 1 are sum, product, max and min; arg-max carries (value, index); the
(max, sum) pair of an online softmax carries (m, s) and combines as
    m = max(m1, m2);  s = s1 * exp(m1 - m) + s2 * exp(m2 - m)       (Milakov and Gimelshein 2018, algorithm 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from autosched.te.dtype import DTYPES, is_float
from autosched.te.expr import Binary, Const, Expr, Select, Unary, Variable, expr_text

Tuple = tuple[Expr, ...]


@dataclass(frozen=True)
class Combiner:
    """`identity(dtypes)` gives the neutral tuple, `combine(a, b)` the combination of two tuples."""

    name: str
    width: int
    identity: Callable[[tuple[str, ...]], tuple[Const, ...]]
    combine: Callable[[Tuple, Tuple], Tuple]

    def text(self, dtypes: tuple[str, ...]) -> str:
        """Canonical text: what the combination does, whatever its name."""
        a, b = operands(dtypes)
        parts = [expr_text(c) for c in self.identity(dtypes)]
        return f"({', '.join(parts)}; {', '.join(expr_text(e) for e in self.combine(a, b))})"


def operands(dtypes: tuple[str, ...]) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
    """Two tuples to combine: (a0, a1, ...) and (b0, b1, ...), one variable a component."""
    a = tuple(Variable(f"a{i}", d) for i, d in enumerate(dtypes))
    return a, tuple(replace(v, name=f"b{i}") for i, v in enumerate(a))


def lowest(dtype: str) -> Const:
    """The least value of a dtype (minus infinity for floats)."""
    if is_float(dtype):
        return Const(-math.inf, dtype)
    bits = 8 * DTYPES[dtype].n_bytes
    return Const(0 if dtype in ("uint8", "bool") else -(1 << (bits - 1)), dtype)


def highest(dtype: str) -> Const:
    """The greatest value of a dtype (infinity for floats)."""
    if is_float(dtype):
        return Const(math.inf, dtype)
    bits = 8 * DTYPES[dtype].n_bytes
    return Const((1 << bits) - 1 if dtype == "uint8" else (1 << (bits - 1)) - 1, dtype)


def _zero_or_one(value: int) -> Callable[[tuple[str, ...]], tuple[Const, ...]]:
    return lambda dtypes: (Const(value, dtypes[0]),)


def _elementwise(op: str) -> Callable[[Tuple, Tuple], Tuple]:
    return lambda a, b: (Binary(op, a[0], b[0]),)


def _arg(better: str) -> Callable[[Tuple, Tuple], Tuple]:
    """The first index of the best value; a NaN beats every number, the first NaN wins (NumPy's rule)."""

    def combine(a: Tuple, b: Tuple) -> Tuple:
        earlier = Binary("lt", a[1], b[1])
        wins = Binary(better, a[0], b[0])
        ties = Binary("and", Binary("eq", a[0], b[0]), earlier)
        if is_float(a[0].dtype):
            a_nan, b_nan = Unary("isnan", a[0]), Unary("isnan", b[0])
            wins = Binary("or", wins, Binary("and", a_nan, Unary("not", b_nan)))
            ties = Binary("or", ties, Binary("and", Binary("and", a_nan, b_nan), earlier))
        first = Binary("or", wins, ties)
        return Select(first, a[0], b[0]), Select(first, a[1], b[1])

    return combine


def _rescaled_sum(a: Tuple, b: Tuple) -> Tuple:
    top = Binary("max", a[0], b[0])

    def scaled(part: Tuple) -> Expr:
        """Equal maxima need no rescaling, which keeps infinity minus infinity out."""
        factor = Unary("exp", Binary("sub", part[0], top))
        return Select(Binary("eq", part[0], top), part[1], Binary("mul", part[1], factor))

    return top, Binary("add", scaled(a), scaled(b))


COMBINERS: dict[str, Combiner] = {
    c.name: c
    for c in (
        Combiner("sum", 1, _zero_or_one(0), _elementwise("add")),
        Combiner("product", 1, _zero_or_one(1), _elementwise("mul")),
        Combiner("max", 1, lambda d: (lowest(d[0]),), _elementwise("max")),
        Combiner("min", 1, lambda d: (highest(d[0]),), _elementwise("min")),
        Combiner("argmax", 2, lambda d: (lowest(d[0]), highest(d[1])), _arg("gt")),
        Combiner("argmin", 2, lambda d: (highest(d[0]), highest(d[1])), _arg("lt")),
        Combiner("maxsum", 2, lambda d: (lowest(d[0]), Const(0, d[1])), _rescaled_sum),
    )
}
