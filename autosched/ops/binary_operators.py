"""Elementwise operators of two and more inputs, which broadcast as NumPy's do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.ops.broadcasting import axes_of, broadcast, read_broadcast
from autosched.ops.operator import (
    UNLIMITED,
    Array,
    Arrays,
    Attributes,
    Operator,
    Sample,
    Tensors,
    TensorType,
    Types,
    float_type,
)
from autosched.ops.samples import normal
from autosched.te.dtype import is_float
from autosched.te.expr import Binary, Const, Expr, Select, binary, cast, maximum_of, minimum_of
from autosched.te.integer import Int
from autosched.te.workload import Tensor, compute

Fold = Callable[[Sequence[Expr]], Expr]

SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((5,), (5,)),
    ((2, 3, 5), (2, 3, 5)),
    ((2, 3, 5), (1,)),
    ((2, 3, 5), ()),
    ((3, 1), (2, 1, 7)),
    ((1, 3, 1, 1), (2, 3, 4, 5)),
    ((0, 3), (3,)),
)
SPECIAL = (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, -2.0)


def present(inputs: Sequence[Any]) -> list[Any]:
    return [i for i in inputs if i is not None]


def same_dtype(inputs: Types) -> str:
    """The dtype that all inputs share."""
    dtypes = [t.dtype for t in present(inputs)]
    if len(set(dtypes)) != 1:
        raise InvalidInput(f"inputs have dtypes {', '.join(dtypes)}; they have to be equal")
    return str(dtypes[0])


def broadcast_type(inputs: Types, dtype: str) -> TensorType:
    return TensorType(broadcast(*(t.shape for t in present(inputs))), dtype)


def combined(name: str, inputs: Tensors, shape: Sequence[int], fold: Fold) -> tuple[Tensor, ...]:
    """One stage over the broadcast shape."""

    def body(*at: Int) -> Expr:
        return fold([read_broadcast(x, at) for x in present(inputs)])

    return compute(name, axes_of(shape), body)


def _samples(random: np.random.Generator, dtypes: Sequence[Any]) -> tuple[Sample, ...]:
    def draw(shape: tuple[int, ...], dtype: Any) -> Array:
        if dtype == np.float32:
            return np.asarray(random.standard_normal(shape), dtype)
        return np.asarray(random.integers(1 if dtype == np.int32 else 0, 9, shape)).astype(dtype)

    found = [
        Sample(f"{np.dtype(d).name} {a} {b}", (draw(a, d), draw(b, d)))
        for d in dtypes
        for a, b in SHAPES
    ]
    if np.float32 in dtypes:
        every = np.array(SPECIAL, np.float32)
        found.append(Sample("special values", (every[:, None], every[None, :])))
    return tuple(found)


def _operator(
    name: str,
    fold: Fold,
    meaning: Callable[..., Any],
    dtypes: Sequence[Any] = (np.float32, np.int32),
    *,
    n_inputs: tuple[int, float] = (2, 2),
    result: str = "",
) -> Operator:
    allowed = {np.dtype(d).name for d in dtypes}

    def infer(inputs: Types, _: Attributes) -> tuple[TensorType, ...]:
        dtype = same_dtype(inputs)
        if dtype == "bool" and "bool" not in allowed:
            raise InvalidInput("inputs are bool; they have to be numbers")
        if allowed == {"bool"} and dtype != "bool":
            raise InvalidInput(f"inputs are {dtype}; they have to be bool")
        if allowed == {"float32"}:
            float_type(present(inputs)[0])
        return (broadcast_type(inputs, result or dtype),)

    def te(inputs: Tensors, _: Attributes) -> tuple[Tensor, ...]:
        shape = broadcast(*(x.static_shape for x in present(inputs)))
        return combined(name.lower(), inputs, shape, fold)

    def reference(inputs: Arrays, _: Attributes) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return (np.asarray(meaning(*present(inputs))),)

    def samples(random: np.random.Generator) -> tuple[Sample, ...]:
        found = _samples(random, dtypes)
        if n_inputs[1] == UNLIMITED:
            more = tuple(Sample(f"{s.label}, three", (*s.inputs, s.inputs[0])) for s in found[:3])
            return (*found, *more, Sample("one input", (found[1].inputs[0],)))
        return found

    return Operator(name, infer, te, reference, samples, n_inputs=n_inputs)


def _by(op: str) -> Fold:
    return lambda values: reduce(lambda a, b: binary(op, a, b), values)


def _towards_zero(a: Array, b: Array) -> Array:
    if np.issubdtype(np.result_type(a, b), np.integer):
        return (np.abs(a) // np.abs(b)) * np.sign(a) * np.sign(b)
    return np.asarray(np.divide(a, b))


def _mean(values: Sequence[Expr]) -> Expr:
    return _by("add")(values) / float(len(values))


def _variadic(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays: reduce(function, arrays)


def _infer_power(inputs: Types, _: Attributes) -> tuple[TensorType, ...]:
    base = present(inputs)[0]
    return (broadcast_type(inputs, base.dtype),)


def _te_power(inputs: Tensors, _: Attributes) -> tuple[Tensor, ...]:
    base, exponent = present(inputs)
    shape = broadcast(base.static_shape, exponent.static_shape)
    return combined("pow", inputs, shape, lambda v: Binary("pow", v[0], cast(v[0].dtype, v[1])))


def _power_reference(inputs: Arrays, _: Attributes) -> tuple[Array, ...]:
    base, exponent = present(inputs)
    with np.errstate(all="ignore"):
        return (np.asarray(np.power(base, exponent.astype(base.dtype))),)


def _power_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    base = random.uniform(0.1, 2, (3, 5)).astype(np.float32)
    every = np.array(SPECIAL, np.float32)
    return (
        Sample("scalar exponent", (base, np.array(2.0, np.float32))),
        Sample("integer exponent", (base, np.array([3, 2, 1, 0, 2], np.int32))),
        Sample("special values", (every[:, None], every[None, :])),
        Sample("broadcast", (base, random.uniform(-2, 2, (2, 1, 5)).astype(np.float32))),
    )


def _infer_where(inputs: Types, _: Attributes) -> tuple[TensorType, ...]:
    test = inputs[0]
    assert test is not None
    if test.dtype != "bool":
        raise InvalidInput(f"condition {test} has to be bool")
    return (broadcast_type(inputs, same_dtype(inputs[1:])),)


def _te_where(inputs: Tensors, _: Attributes) -> tuple[Tensor, ...]:
    shape = broadcast(*(x.static_shape for x in present(inputs)))
    return combined("where", inputs, shape, lambda v: Select(v[0], v[1], v[2]))


def _where_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = normal(random, 2, 3, 5)
    test = random.integers(0, 2, (3, 1)).astype(bool)
    return (
        Sample("broadcast condition", (test, x, np.zeros((), np.float32))),
        Sample(
            "nan not taken",
            (np.array([True, False]), np.ones(2, np.float32), np.full(2, np.nan, np.float32)),
        ),
        Sample("int64", (test, np.arange(5), np.arange(5)[::-1].copy())),
    )


def _where_reference(inputs: Arrays, _: Attributes) -> tuple[Array, ...]:
    return (np.where(*present(inputs)),)


def _prelu(values: Sequence[Expr]) -> Expr:
    x, slope = values
    return Select(Binary("lt", x, Const(0.0 if is_float(x.dtype) else 0, x.dtype)), x * slope, x)


NUMBERS = (np.float32, np.int32)
BOOLS = (np.bool_,)

BINARY_OPERATORS: tuple[Operator, ...] = (
    _operator("Add", _by("add"), np.add),
    _operator("Sub", _by("sub"), np.subtract),
    _operator("Mul", _by("mul"), np.multiply),
    _operator("Div", _by("div"), _towards_zero),
    _operator(
        "Max",
        lambda v: reduce(maximum_of, v),
        _variadic(np.maximum),
        NUMBERS,
        n_inputs=(1, UNLIMITED),
    ),
    _operator(
        "Min",
        lambda v: reduce(minimum_of, v),
        _variadic(np.minimum),
        NUMBERS,
        n_inputs=(1, UNLIMITED),
    ),
    _operator("Sum", _by("add"), _variadic(np.add), (np.float32,), n_inputs=(1, UNLIMITED)),
    _operator(
        "Mean", _mean, lambda *a: reduce(np.add, a) / len(a), (np.float32,), n_inputs=(1, UNLIMITED)
    ),
    _operator("PRelu", _prelu, lambda x, s: np.where(x < 0, x * s, x)),
    _operator("Equal", _by("eq"), np.equal, (*NUMBERS, np.bool_), result="bool"),
    _operator("Less", _by("lt"), np.less, NUMBERS, result="bool"),
    _operator("LessOrEqual", _by("le"), np.less_equal, NUMBERS, result="bool"),
    _operator("Greater", _by("gt"), np.greater, NUMBERS, result="bool"),
    _operator("GreaterOrEqual", _by("ge"), np.greater_equal, NUMBERS, result="bool"),
    _operator("And", _by("and"), np.logical_and, BOOLS),
    _operator("Or", _by("or"), np.logical_or, BOOLS),
    _operator("Xor", _by("ne"), np.logical_xor, BOOLS),
    Operator("Pow", _infer_power, _te_power, _power_reference, _power_samples, n_inputs=(2, 2)),
    Operator("Where", _infer_where, _te_where, _where_reference, _where_samples, n_inputs=(3, 3)),
)
