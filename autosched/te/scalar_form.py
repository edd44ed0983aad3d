"""Normal form of scalar expressions: what can be decided without changing a bit of any result.

    1.5 + 2.0 -> 3.5    x * 1 -> x    x / 1 -> x    x - 0 -> x    select(true, a, b) -> a

x + 0 stays (it turns -0.0 into 0.0), and so does every transcendental call of a constant. Operands
of add, mul, and, or are put in the order of their text.
"""

from __future__ import annotations

import numpy as np

from autosched.te.arrays import Grid, Precision
from autosched.te.dtype import is_float
from autosched.te.expr import (
    BINARY,
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Load,
    Select,
    Unary,
    expr_text,
    with_operands,
)
from autosched.te.index_form import simplified
from autosched.te.integer import Int
from autosched.te.interval import Ranges

EXACT_UNARY = frozenset(("neg", "abs", "sqrt", "floor", "ceil", "sign", "not", "isnan"))
EXACT_BINARY = frozenset(BINARY) - {"pow"}
COMMUTATIVE = frozenset(("add", "mul", "and", "or"))
NEUTRAL_RIGHT = {"mul": 1, "div": 1, "sub": 0}


def simplified_expr(expression: Expr, ranges: Ranges) -> Expr:
    """The expression in normal form, its indices too."""
    match expression:
        case Load(source, indices):
            return Load(source, tuple(simplified(i, ranges) for i in indices))
        case Index(index, dtype):
            return _simplified_index(simplified(index, ranges), dtype)
    operands = tuple(simplified_expr(o, ranges) for o in expression.operands)
    return _simplified_node(with_operands(expression, operands))


def _simplified_index(index: Int, dtype: str) -> Expr:
    if index.is_constant:
        return Const(bool(index.value) if dtype == "bool" else index.value, dtype)
    return Index(index, dtype)


def _simplified_node(node: Expr) -> Expr:
    match node:
        case Select(Const(value, _), a, b):
            return a if value else b
        case Cast(dtype, a) if a.dtype == dtype:
            return a
        case Cast(_, Const()):
            return _computed(node)
        case Unary(op, Const()) if op in EXACT_UNARY:
            return _computed(node)
        case Binary(op, Const(), Const()) if op in EXACT_BINARY:
            return _computed(node)
        case Binary():
            return _ordered(node)
    return node


def _ordered(node: Binary) -> Expr:
    if node.op in COMMUTATIVE and expr_text(node.a) > expr_text(node.b):
        node = Binary(node.op, node.b, node.a)
    for a, b in ((node.a, node.b), (node.b, node.a)):
        if isinstance(b, Const) and _is_neutral(node.op, b) and (b is node.b or node.op == "mul"):
            return a
    return node


def _is_neutral(op: str, constant: Const) -> bool:
    """Right operand that changes nothing; subtracting -0.0 would turn -0.0 into 0.0."""
    if op not in NEUTRAL_RIGHT or constant.value != NEUTRAL_RIGHT[op]:
        return False
    return op != "sub" or not np.signbit(float(constant.value))


def _computed(node: Expr) -> Expr:
    with np.errstate(all="ignore"):
        value = Grid(Precision(None), {}, _no_array).value(node)
    scalar = float(value) if is_float(node.dtype) else int(value)
    return Const(bool(scalar) if node.dtype == "bool" else scalar, node.dtype)


def _no_array(source: object) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    raise TypeError(f"a constant reads {source!r}")
