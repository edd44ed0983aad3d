"""Input sets with expected outputs: what a kernel must reproduce before its time counts.

Three sets a task, drawn once a job. One holds small integers whose sums are exact in the accumulator, compared bit for
bit, where the workload only adds, multiplies and compares; the others allow

    |error| <= eps * (8 sqrt(K) rms(expected) + max |expected|)

with K the length of the longest chain of reductions and eps that of the coarsest float type on the way. Functions such
as exp and division amplify errors of what they are given; a workload that has any is also evaluated in its own types,
and `AMPLIFIED` times the error of that evaluation is allowed where it is larger. Expected values come from a reference
that shares nothing with the nest: the operators' NumPy references over the unfused subgraph where there is a graph,
else the tensor expressions in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import ml_dtypes
import numpy as np

from autosched.measure.protocol import Array, Check, InputSet
from autosched.te.dtype import is_float, numpy_dtype
from autosched.te.evaluate import evaluate_workload
from autosched.te.expr import Binary, Expr, Load, Unary
from autosched.te.workload import Stage, Tensor, Workload
from autosched.tuning.magnitude import EXACT_COMBINERS, exact_integer_range

Reference = Callable[[Sequence[Array]], Sequence[Array]]
"""Inputs in the workload's order -> outputs in the workload's order, in any float type."""

AMPLIFIED = 8.0
"""Kernels sum in other orders than NumPy and have their own exp: a few times its error is still rounding."""

RIGID = frozenset({"add", "sub", "mul", "min", "max", "neg", "abs"})
"""Operations whose errors the rms rule covers."""

Draw = Literal["normal", "shifted", "positive", "integers"]


def make_check(
    workload: Workload, rng: np.random.Generator, reference: Reference | None = None
) -> Check:
    """The input sets of a task. Draws that leave the domain of a function (a root of negative numbers) are replaced by
    positive ones, so that a set is never mostly NaN."""
    compute = reference or (lambda inputs: evaluate_workload(workload, inputs))
    return Check(
        (
            _integer_set(workload, rng, compute),
            _float_set(workload, rng, compute, "normal"),
            _float_set(workload, rng, compute, "shifted"),
        )
    )


def draw_inputs(workload: Workload, rng: np.random.Generator, draw: Draw) -> tuple[Array, ...]:
    """One array an input, in its shape and dtype."""
    return tuple(draw_array(t, rng, draw) for t in workload.inputs)


def draw_array(tensor: Tensor, rng: np.random.Generator, draw: Draw, largest: int = 4) -> Array:
    """Floats by `draw`, integers within [-largest, largest] (unsigned: [0, largest]), fair booleans."""
    shape, dtype = tensor.static_shape, tensor.dtype
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if draw == "integers" or not is_float(dtype):
        low = 0 if dtype == "uint8" else -largest
        return rng.integers(low, largest + 1, shape).astype(numpy_dtype(dtype))
    values = rng.standard_normal(shape, np.float32)
    if draw == "shifted":
        values = values * np.float32(0.5) + np.float32(0.25)
    elif draw == "positive":
        values = np.abs(values) + np.float32(0.5)
    return values.astype(numpy_dtype(dtype))


def _integer_set(workload: Workload, rng: np.random.Generator, compute: Reference) -> InputSet:
    largest = exact_integer_range(workload)
    if largest is None:
        return _float_set(workload, rng, compute, "positive")
    inputs = tuple(draw_array(t, rng, "integers", largest) for t in workload.inputs)
    expected = _stored(workload, compute(inputs))
    return InputSet(inputs, expected, tuple(0.0 for _ in expected), exact=True)


def _float_set(
    workload: Workload, rng: np.random.Generator, compute: Reference, draw: Draw
) -> InputSet:
    inputs = draw_inputs(workload, rng, draw)
    results = compute(inputs)
    if draw != "positive" and not all(_is_finite(r) for r in results):
        inputs = draw_inputs(workload, rng, "positive")
        results = compute(inputs)
    expected = _stored(workload, results)
    allowed = [tolerance(workload, o, r) for o, r in zip(workload.outputs, results, strict=True)]
    if amplifies(workload):
        errors = rounding_errors(workload, inputs, results)
        allowed = [max(a, AMPLIFIED * e) for a, e in zip(allowed, errors, strict=True)]
    return InputSet(inputs, expected, tuple(allowed))


def amplifies(workload: Workload) -> bool:
    """Whether any stage has an operation, on floats, that the rms rule does not cover."""
    return any(not _is_rigid(v) for s in workload.stages for v in s.values) or any(
        s.combiner is not None and s.combiner.name not in EXACT_COMBINERS for s in workload.stages
    )


def _is_rigid(expression: Expr) -> bool:
    arithmetic = isinstance(expression, (Unary, Binary)) and is_float(expression.dtype)
    if arithmetic and _operation(expression) not in RIGID:
        return False
    return all(_is_rigid(o) for o in expression.operands)


def _operation(expression: Expr) -> str:
    return expression.op if isinstance(expression, (Unary, Binary)) else ""


def rounding_errors(
    workload: Workload, inputs: Sequence[Array], results: Sequence[Array]
) -> list[float]:
    """The largest error of each output when the expressions are evaluated in their own types."""
    computed = evaluate_workload(workload, inputs, None)
    with np.errstate(all="ignore"):
        errors = [
            np.abs(np.asarray(c, np.float64) - np.reshape(np.asarray(r, np.float64), c.shape))
            for c, r in zip(computed, results, strict=True)
        ]
    return [float(np.max(e[np.isfinite(e)], initial=0.0)) for e in errors]


def _is_finite(values: Array) -> bool:
    return bool(np.isfinite(np.asarray(values, np.float64)).all())


def _stored(workload: Workload, results: Sequence[Array]) -> tuple[Array, ...]:
    with np.errstate(over="ignore", invalid="ignore"):
        return tuple(
            np.asarray(r).astype(numpy_dtype(o.dtype)).reshape(o.static_shape)
            for o, r in zip(workload.outputs, results, strict=True)
        )


def tolerance(workload: Workload, output: Tensor, expected: Array) -> float:
    """Largest absolute error allowed in one element of `output`; 0 for integers and booleans."""
    if not is_float(output.dtype):
        return 0.0
    values = np.asarray(expected, np.float64)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0
    length = chain_length(workload)
    rms = math.sqrt(float(np.mean(finite * finite)))
    return coarsest_eps(workload) * (8 * math.sqrt(length) * rms + float(np.abs(finite).max()))


def coarsest_eps(workload: Workload) -> float:
    """Machine epsilon of the coarsest float type that any stage stores or accumulates in; inputs are exact."""
    types = {d for s in workload.stages for d in (*s.dtypes, *(v.dtype for v in s.values))}
    return max((_eps(d) for d in types if is_float(d)), default=_eps("float32"))


def _eps(dtype: str) -> float:
    return float(ml_dtypes.finfo(numpy_dtype(dtype)).eps)


def chain_length(workload: Workload) -> int:
    """The longest chain of reductions from an input to an output, lengths added along it."""
    longest: dict[int, int] = {}
    for stage in workload.stages:
        before = max((longest[id(p)] for p in _producers(stage)), default=0)
        longest[id(stage)] = before + _reduced(stage)
    return max(1, *longest.values()) if longest else 1


def _reduced(stage: Stage) -> int:
    return math.prod(a.extent.value for a in stage.reduce_axes) if stage.reduce_axes else 0


def _producers(stage: Stage) -> list[Stage]:
    return [s for s in (_stage_of(load) for load in stage.loads) if s is not None]


def _stage_of(load: Load) -> Stage | None:
    return load.source.stage if isinstance(load.source, Tensor) else None
