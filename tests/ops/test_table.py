"""One test per contract over the whole operator table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autosched.errors import InvalidInput
from autosched.ops import OPS, Operator, Sample
from autosched.ops.operator import array_type, relative_tolerance
from autosched.te.canonical import canonical
from autosched.te.dtype import DTYPES, is_float
from autosched.te.evaluate import evaluate_workload
from autosched.te.workload import Tensor, Workload, canonical_text, placeholder

Array = np.ndarray[Any, Any]


def samples() -> Iterator[Any]:
    for operator in OPS.values():
        for sample in operator.samples(np.random.default_rng(11)):
            yield pytest.param(operator, sample, id=f"{operator.name}-{sample.label}")


SAMPLES = list(samples())


def workload_of(operator: Operator, sample: Sample) -> tuple[Workload, list[Array]]:
    """The sample as a workload, and the arrays of its inputs."""
    tensors: list[Tensor | None] = []
    for position, array in enumerate(sample.inputs):
        kind = array_type(array)
        tensors.append(
            None if kind is None else placeholder(f"x{position}", kind.shape, kind.dtype)
        )
    outputs = operator.te(tensors, operator.complete(sample.attributes))
    inputs = tuple(t for t in tensors if t is not None)
    arrays = [a for a in sample.inputs if a is not None]
    return Workload(operator.name, inputs, outputs), arrays


def expected(operator: Operator, sample: Sample) -> tuple[Array, ...]:
    """The reference in float64."""
    wide = [
        a.astype(np.float64) if a is not None and np.issubdtype(a.dtype, np.floating) else a
        for a in sample.inputs
    ]
    return operator.reference(wide, operator.complete(sample.attributes))


@pytest.mark.parametrize(("operator", "sample"), SAMPLES)
def test_meaning_is_the_reference(operator: Operator, sample: Sample) -> None:
    workload, arrays = workload_of(operator, sample)
    types = operator.inferred([array_type(a) for a in sample.inputs], sample.attributes)
    wanted = expected(operator, sample)
    assert [(t.static_shape, t.dtype) for t in workload.outputs] == [
        (t.shape, t.dtype) for t in types
    ]
    for found, right, kind in zip(evaluate_workload(workload, arrays), wanted, types, strict=True):
        assert found.shape == right.shape == kind.shape
        if not is_float(kind.dtype):
            assert found.dtype == DTYPES[kind.dtype].numpy
        np.testing.assert_allclose(found, right, rtol=2e-7, atol=1e-9)


@pytest.mark.parametrize(("operator", "sample"), SAMPLES)
def test_canonical_form_keeps_values(operator: Operator, sample: Sample) -> None:
    workload, arrays = workload_of(operator, sample)
    form = canonical(workload)
    plain, other = evaluate_workload(workload, arrays), evaluate_workload(form, arrays)
    for a, b in zip(plain, other, strict=True):
        np.testing.assert_allclose(a.ravel(), b.ravel(), rtol=1e-12, atol=1e-12)
    assert canonical_text(canonical(form)) == canonical_text(form)


@pytest.mark.parametrize(("operator", "sample"), SAMPLES)
def test_declared_precision_stays_within_tolerance(operator: Operator, sample: Sample) -> None:
    workload, arrays = workload_of(operator, sample)
    length = operator.reduction_length(
        [array_type(a) for a in sample.inputs], operator.complete(sample.attributes)
    )
    found = evaluate_workload(workload, arrays, accumulate=None)
    for value, right, tensor in zip(
        found, expected(operator, sample), workload.outputs, strict=True
    ):
        with np.errstate(all="ignore"):
            held = right.astype(value.dtype)
        finite = np.isfinite(held)
        np.testing.assert_array_equal(np.isnan(value), np.isnan(held))
        scale = np.sqrt(np.mean(np.square(held[finite].astype(np.float64)))) if finite.any() else 0
        allowed = relative_tolerance(tensor.dtype, length) * max(scale, 1.0) * 4
        error = np.abs(value[finite].astype(np.float64) - held[finite].astype(np.float64))
        assert error.max(initial=0.0) <= max(allowed, 1e-6 * np.abs(held[finite]).max(initial=0.0))


@pytest.mark.parametrize("operator", OPS.values(), ids=lambda o: o.name)
def test_every_operator_has_samples_and_refuses_an_unknown_attribute(operator: Operator) -> None:
    assert operator.samples(np.random.default_rng(0))
    with pytest.raises(InvalidInput, match=r"node7 \(.*unknown attribute bogus"):
        operator.complete({"bogus": 1}, "node7")


BAD: list[tuple[str, tuple[tuple[int, ...], ...], dict[str, Any], str]] = [
    ("Add", ((2, 3), (4,)), {}, "do not broadcast"),
    ("Add", ((2, 3),), {}, "1 inputs given, 2 wanted"),
    ("MatMul", ((2, 3), (4, 5)), {}, "3 columns meet 4 rows"),
    ("Gemm", ((2, 3), (4, 5)), {}, "3 columns meet 4 rows"),
    ("Conv", ((1, 3, 5, 5), (4, 2, 3, 3)), {}, "3 channels"),
    ("Conv", ((1, 3, 5, 5), (4, 3, 3, 3)), {"pads": [1, 1]}, "pads is"),
    ("Conv", ((1, 3, 5, 5), (4, 3, 3, 3)), {"strides": [0, 1]}, "strides is"),
    ("Conv", ((1, 3, 5, 5), (4, 3, 3, 3)), {"kernel_shape": [2, 2]}, "kernel_shape is"),
    ("MaxPool", ((1, 3, 5, 5),), {}, "kernel_shape is required"),
    ("Reshape", ((2, 3),), {"shape": [4, 2]}, "does not fit 6 elements"),
    ("Transpose", ((2, 3),), {"perm": [0, 0]}, "no permutation"),
    ("Softmax", ((2, 3),), {"axis": 2}, "axis 2 is out of range"),
    ("Softmax", ((2, 3),), {"axis": 0.5}, "axis is 0.5, not of kind int"),
    ("Reshape", ((2, 3),), {"shape": [3.0, 2.0]}, "not of kind ints"),
    ("Concat", ((2, 3), (3, 4)), {"axis": 1}, "differ in more than axis"),
    ("Squeeze", ((2, 3),), {"axes": [0]}, "extent 2, not 1"),
    ("BatchNormalization", ((2, 3), (3,), (3,), (4,), (3,)), {}, "has to have shape"),
    ("Slice", ((2, 3),), {"starts": [0], "ends": [1], "steps": [0]}, "zero"),
    ("Expand", ((1,),), {"shape": [1 << 30, 1 << 30]}, "more than"),
    ("ArgMax", ((2, 0),), {"axis": 1}, "empty"),
]


@pytest.mark.parametrize(("name", "shapes", "attributes", "message"), BAD)
def test_bad_input_is_named(
    name: str, shapes: tuple[tuple[int, ...], ...], attributes: dict[str, Any], message: str
) -> None:
    types = [array_type(np.broadcast_to(np.float32(0), s)) for s in shapes]
    with pytest.raises(InvalidInput, match=message) as caught:
        OPS[name].inferred(types, attributes, "layer3")
    assert str(caught.value).startswith(f"layer3 ({name}): ")
