"""Operators whose result is known when the graph is built; a graph folds them by their reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.ops.broadcasting import axes_of
from autosched.ops.operator import (
    REQUIRED,
    Array,
    Arrays,
    Attribute,
    Attributes,
    Operator,
    Sample,
    Tensors,
    TensorType,
    Types,
    array_type,
)
from autosched.ops.samples import normal
from autosched.te.dtype import DTYPES, is_float
from autosched.te.expr import Const, Expr, Select, condition
from autosched.te.integer import Int, as_int, less
from autosched.te.workload import Tensor, compute

MAX_LITERALS = 64


def literal(array: Array) -> Tensor:
    """A stage that yields a small array, by nested selects on the flat position.

    An array of one value is one constant; more than 64 different elements are an InvalidInput.
    """
    kind = array_type(array)
    assert kind is not None
    values = array.reshape(-1)
    if values.size and (values == values[0]).all():
        values = values[:1]
    if values.size > MAX_LITERALS:
        raise InvalidInput(
            f"constant {kind} has over {MAX_LITERALS} elements: make it an initializer"
        )
    (y,) = compute(
        "constant", axes_of(array.shape), lambda *at: _chosen(values, at, array.shape, kind.dtype)
    )
    return y


def _chosen(values: Array, at: Sequence[Int], shape: Sequence[int], dtype: str) -> Expr:
    position = as_int(0)
    for index, extent in zip(at, shape, strict=True):
        position = position * extent + index
    constants = [_constant(v, dtype) for v in values] or [_constant(0, dtype)]
    result: Expr = constants[-1]
    for place in reversed(range(len(constants) - 1)):
        result = Select(condition(less(position, place + 1)), constants[place], result)
    return result


def _constant(value: Any, dtype: str) -> Const:
    if dtype == "bool":
        return Const(bool(value), dtype)
    return Const(float(value) if is_float(dtype) else int(value), dtype)


VALUE_ATTRIBUTES = (
    Attribute("value", "tensor"),
    Attribute("value_float", "float"),
    Attribute("value_floats", "tensor"),
    Attribute("value_int", "int"),
    Attribute("value_ints", "tensor"),
)


def constant_value(attributes: Attributes) -> Array:
    """The array that a Constant node holds."""
    forms = {name: v for name, v in attributes.items() if v is not None}
    if len(forms) != 1:
        raise InvalidInput(f"one value is wanted, {len(forms)} given: {', '.join(forms)}")
    ((name, value),) = forms.items()
    dtypes = {"value_float": np.float32, "value_floats": np.float32, "value": None}
    return np.asarray(value, dtypes.get(name, np.int64))


def _infer_constant(inputs: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    array = constant_value(attributes)
    if array.dtype not in {np.dtype(d.numpy) for d in DTYPES.values()}:
        raise InvalidInput(f"constant of dtype {array.dtype} is not supported")
    kind = array_type(array)
    assert kind is not None
    return (kind,)


def _constant_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    return (
        Sample("matrix", (), {"value": normal(random, 2, 3)}),
        Sample("scalar", (), {"value_float": 2.5}),
        Sample("integers", (), {"value_ints": [3, 1, 2]}),
        Sample("large of one value", (), {"value": np.full((9, 99), 7, np.int64)}),
    )


def _filled(attributes: Attributes) -> Array:
    value = attributes["value"]
    fill = np.zeros(1, np.float32) if value is None else np.asarray(value).reshape(-1)
    if fill.size != 1:
        raise InvalidInput(f"value has {fill.size} elements; one is wanted")
    return np.broadcast_to(fill[0], attributes["shape"])


def _infer_fill(inputs: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    if min(attributes["shape"], default=0) < 0:
        raise InvalidInput(f"shape {attributes['shape']} has a negative dimension")
    kind = array_type(_filled({**attributes, "shape": ()}))
    assert kind is not None
    return (TensorType(tuple(attributes["shape"]), kind.dtype),)


def _fill_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    return (
        Sample("zeros", (), {"shape": [2, 3]}),
        Sample("value", (), {"shape": [4], "value": np.array([0.25], np.float32)}),
        Sample("empty", (), {"shape": [0, 2], "value": np.array([7], np.int64)}),
    )


def _shape_of(shape: Sequence[int], attributes: Attributes) -> Array:
    return np.array(shape[attributes["start"] : attributes["end"]], np.int64)


def _infer_shape(inputs: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    assert inputs[0] is not None
    return (TensorType(_shape_of(inputs[0].shape, attributes).shape, "int64"),)


def _te_shape(inputs: Tensors, attributes: Attributes) -> tuple[Tensor, ...]:
    assert inputs[0] is not None
    return (literal(_shape_of(inputs[0].static_shape, attributes)),)


def _shape_reference(inputs: Arrays, attributes: Attributes) -> tuple[Array, ...]:
    assert inputs[0] is not None
    return (_shape_of(inputs[0].shape, attributes),)


def _shape_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = np.zeros((2, 3, 4, 5), np.float32)
    return Sample("whole", (x,)), Sample("part", (x,), {"start": 1, "end": -1})


CONSTANT_OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Constant",
        _infer_constant,
        lambda _, a: (literal(constant_value(a)),),
        lambda _, a: (constant_value(a),),
        _constant_samples,
        VALUE_ATTRIBUTES,
        (0, 0),
    ),
    Operator(
        "ConstantOfShape",
        _infer_fill,
        lambda _, a: (literal(_filled(a)),),
        lambda _, a: (np.array(_filled(a)),),
        _fill_samples,
        (Attribute("shape", "ints", REQUIRED), Attribute("value", "tensor")),
        (0, 1),
        {0: "shape"},
    ),
    Operator(
        "Shape",
        _infer_shape,
        _te_shape,
        _shape_reference,
        _shape_samples,
        (Attribute("start", "int", 0), Attribute("end", "int")),
    ),
)
