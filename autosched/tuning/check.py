"""Input sets with expected outputs: what a kernel must reproduce before its time counts.

Three sets a task, drawn once a job. One holds small integers whose sums are exact in the accumulator, compared bit for
bit, where the workload only adds, multiplies and compares; the others allow

    |error| <= eps * (8 sqrt(K) rms(expected) + max |expected|)

with K the length of the longest chain of reductions and eps that of the coarsest float type on the way. Expected values
come from a reference that shares nothing with the nest: the operators' NumPy references over the unfused subgraph where
there is a graph, else the tensor expressions in float64.
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
from autosched.te.expr import Load
from autosched.te.workload import Stage, Tensor, Workload
from autosched.tuning.magnitude import exact_integer_range

Reference = Callable[[Sequence[Array]], Sequence[Array]]
"""Inputs in the workload's order -> outputs in the workload's order, in any float type."""

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
    scale = [tolerance(workload, o, r) for o, r in zip(workload.outputs, results, strict=True)]
    return InputSet(inputs, expected, tuple(scale))


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
