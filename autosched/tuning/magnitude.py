"""How large values can become: whether small integers pass through a workload without rounding.

Sums, products, extrema and selections of integers are exact in a float type as long as no value, partial sums in any
order included, exceeds 2^p, p the bits of its significand. The bound is carried stage by stage: |a + b| <= |a| + |b|,
|a * b| <= |a| |b|, a sum over K elements <= K times its element.
"""

from __future__ import annotations

import math

import ml_dtypes

from autosched.te.dtype import is_float, numpy_dtype
from autosched.te.expr import Binary, Cast, Const, Expr, Index, Load, Select, Unary
from autosched.te.workload import Stage, Tensor, Workload

EXACT_COMBINERS = frozenset({"sum", "max", "min", "argmax", "argmin"})
RANGES = (4, 2, 1)
"""Integers to draw from, the widest first: [-4, 4], [-2, 2], [-1, 1]."""

_ADDING = frozenset({"add", "sub"})
_CHOOSING = frozenset({"min", "max"})
_TESTING = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "and", "or"})
_KEEPING = frozenset({"neg", "abs"})


def exact_integer_range(workload: Workload) -> int | None:
    """The widest of `RANGES` from which every float result is exact; None if there is none."""
    return next((r for r in RANGES if _is_exact(workload, r)), None)


def _is_exact(workload: Workload, largest: int) -> bool:
    bounds: dict[int, float] = {id(t): float(largest) for t in workload.inputs}
    for stage in workload.stages:
        bound = _stage_bound(stage, bounds)
        if bound > min((_limit(d) for d in _float_types(stage)), default=math.inf):
            return False
        bounds[id(stage)] = bound
    return True


def _float_types(stage: Stage) -> list[str]:
    return [d for d in (*stage.dtypes, *(v.dtype for v in stage.values)) if is_float(d)]


def _limit(dtype: str) -> float:
    """The largest n such that every integer up to n is a value of the type; float64 is expected only to hold them."""
    return float(2 ** (ml_dtypes.finfo(numpy_dtype(dtype)).nmant + 1))


def _stage_bound(stage: Stage, bounds: dict[int, float]) -> float:
    if stage.combiner is not None and stage.combiner.name not in EXACT_COMBINERS:
        return math.inf
    bound = max(_bound(v, bounds) for v in stage.values)
    if stage.combiner is not None and stage.combiner.name == "sum":
        bound *= math.prod(a.extent.value for a in stage.reduce_axes)
    return bound


def _bound(expression: Expr, bounds: dict[int, float]) -> float:
    """Largest magnitude of an integer-valued expression; infinite if it may round."""
    parts = [_bound(o, bounds) for o in expression.operands]
    match expression:
        case Load(source=Tensor() as tensor):
            return bounds[id(tensor) if tensor.stage is None else id(tensor.stage)]
        case Const(value=value):
            return _constant_bound(float(value))
        case Index():
            return 1.0 if expression.dtype == "bool" else math.inf
        case Select():
            return max(parts[1:])
        case Cast(type=dtype):
            return parts[0] if is_float(dtype) or dtype == expression.a.dtype else math.inf
        case Unary(op=op) if op in _KEEPING:
            return parts[0]
        case Binary(op=op):
            return _binary_bound(op, parts[0], parts[1])
    return math.inf


def _constant_bound(value: float) -> float:
    """Infinities are identities of max and min and never summed; fractions round."""
    if math.isinf(value):
        return 0.0
    return abs(value) if value.is_integer() else math.inf


def _binary_bound(op: str, a: float, b: float) -> float:
    if op in _ADDING:
        return a + b
    if op in _CHOOSING:
        return max(a, b)
    if op in _TESTING:
        return 1.0
    return a * b if op == "mul" else math.inf
