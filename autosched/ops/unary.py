"""Elementwise operators of one input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf, pi, sqrt
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.ops.broadcasting import axes_of
from autosched.ops.operator import (
    Array,
    Arrays,
    Attribute,
    Attributes,
    Operator,
    Sample,
    Tensors,
    TensorType,
    Types,
    float_type,
)
from autosched.te.dtype import DTYPES, is_float, numpy_dtype
from autosched.te.expr import Binary, Const, Expr, Select, call, cast, maximum_of, minimum_of
from autosched.te.workload import Tensor, compute

Scalar = Callable[[Expr, Attributes], Expr]
Meaning = Callable[[Array, Attributes], Array]

AWKWARD = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, 87.0, -87.0, 3.5, -2.5)


def mapped(name: str, x: Tensor, scalar: Callable[[Expr], Expr]) -> tuple[Tensor, ...]:
    """One stage that applies `scalar` to every element."""
    return compute(name, axes_of(x.static_shape), lambda *at: scalar(x[at]))


def unary_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    """Every sign and special value, and the shapes that break loops."""
    shapes: tuple[tuple[int, ...], ...] = ((), (1,), (7,), (2, 3, 5, 1), (0, 4))
    normal = [
        Sample(f"shape {s}", (np.asarray(random.standard_normal(s), np.float32),)) for s in shapes
    ]
    return (*normal, Sample("special values", (np.array(AWKWARD, np.float32),)))


def _integer_sample(random: np.random.Generator) -> Sample:
    return Sample("int32", (random.integers(-9, 9, (3, 5)).astype(np.int32),))


def _erf(x: Array) -> Array:
    values: Array = np.vectorize(erf, otypes=[np.float64])(x)
    return values.astype(x.dtype)


def _elementwise(
    name: str,
    scalar: Scalar,
    meaning: Meaning,
    attributes: tuple[Attribute, ...] = (),
    integers: bool = False,
) -> Operator:
    def infer(inputs: Types, _: Attributes) -> tuple[TensorType, ...]:
        (x,) = (t for t in inputs[:1] if t is not None)
        return (x if integers and x.dtype != "bool" else float_type(x),)

    def te(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
        assert inputs[0] is not None
        return mapped(name.lower(), inputs[0], lambda value: scalar(value, given))

    def reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
        assert inputs[0] is not None
        with np.errstate(all="ignore"):
            return (np.asarray(meaning(inputs[0], given), inputs[0].dtype),)

    def samples(random: np.random.Generator) -> tuple[Sample, ...]:
        more = (_integer_sample(random),) if integers else ()
        return (*unary_samples(random), *more)

    return Operator(name, infer, te, reference, samples, attributes)


def _called(name: str, function: str, meaning: Callable[[Array], Any], **more: Any) -> Operator:
    return _elementwise(name, lambda x, _: call(function, x), lambda x, _: meaning(x), **more)


def _leaky(x: Expr, alpha: float) -> Expr:
    return Select(Binary("lt", x, Const(0.0, x.dtype)), x * alpha, x)


def _limited(x: Expr, low: float | None, high: float | None) -> Expr:
    integral = not is_float(x.dtype)
    if low is not None:
        x = maximum_of(x, int(low) if integral else low)
    if high is not None:
        x = minimum_of(x, int(high) if integral else high)
    return x


def _clipped(x: Array, low: float | None, high: float | None) -> Array:
    if low is not None:
        x = np.maximum(x, np.asarray(low, x.dtype))
    if high is not None:
        x = np.minimum(x, np.asarray(high, x.dtype))
    return x


def _hard_sigmoid(x: Expr, alpha: float, beta: float) -> Expr:
    return _limited(x * alpha + beta, 0.0, 1.0)


def _gelu(x: Expr, given: Attributes) -> Expr:
    if given["approximate"] == "tanh":
        inner = (x + x * x * x * 0.044715) * sqrt(2 / pi)
        return x * 0.5 * (call("tanh", inner) + 1.0)
    return x * 0.5 * (call("erf", x * sqrt(0.5)) + 1.0)


def _gelu_reference(x: Array, given: Attributes) -> Any:
    if given["approximate"] == "tanh":
        return 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + _erf(x * sqrt(0.5)))


def _softplus(x: Expr) -> Expr:
    """max(x, 0) + log(1 + exp(-|x|)), which does not overflow."""
    return maximum_of(x, 0.0) + call("log", call("exp", -call("abs", x)) + 1.0)


def _elu(x: Expr, alpha: float) -> Expr:
    return Select(Binary("lt", x, Const(0.0, x.dtype)), (call("exp", x) - 1.0) * alpha, x)


def _float(name: str, default: float) -> Attribute:
    return Attribute(name, "float", float(np.float32(default)))


def _not(name: str, function: str, meaning: Callable[[Array], Array], from_bool: bool) -> Operator:
    """Operators whose result is a bool."""

    def infer(inputs: Types, _: Attributes) -> tuple[TensorType, ...]:
        assert inputs[0] is not None
        if from_bool != (inputs[0].dtype == "bool"):
            raise InvalidInput(f"input {inputs[0]} has to be {'bool' if from_bool else 'float'}")
        return (TensorType(inputs[0].shape, "bool"),)

    def te(inputs: Tensors, _: Attributes) -> tuple[Tensor, ...]:
        assert inputs[0] is not None
        return mapped(name.lower(), inputs[0], lambda value: call(function, value))

    def samples(random: np.random.Generator) -> tuple[Sample, ...]:
        if not from_bool:
            return unary_samples(random)
        return (Sample("bools", (random.integers(0, 2, (3, 5)).astype(bool),)),)

    def reference(inputs: Arrays, _: Attributes) -> tuple[Array, ...]:
        assert inputs[0] is not None
        return (meaning(inputs[0]),)

    return Operator(name, infer, te, reference, samples)


ONNX_DTYPES: Mapping[int, str] = {
    1: "float32",
    2: "uint8",
    3: "int8",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    16: "bfloat16",
}


def _cast_target(given: Attributes) -> str:
    """`to` is a dtype's name or its number in ONNX."""
    to = given["to"]
    name = ONNX_DTYPES.get(int(to), to) if to.isdigit() else to
    if name not in DTYPES:
        raise InvalidInput(f"attribute to is {to}; supported: {', '.join(DTYPES)}")
    return name


def _infer_cast(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    assert inputs[0] is not None
    return (TensorType(inputs[0].shape, _cast_target(given)),)


def _te_cast(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    assert inputs[0] is not None
    return mapped("cast", inputs[0], lambda value: cast(_cast_target(given), value))


def _cast_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    assert inputs[0] is not None
    return (inputs[0].astype(numpy_dtype(_cast_target(given))),)


def _cast_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = random.uniform(-90, 90, (3, 7)).astype(np.float32)
    return (
        Sample("to int32", (x,), {"to": "int32"}),
        Sample("to bool", (np.array([0.0, -0.0, 2.5], np.float32),), {"to": "9"}),
        Sample("from int8", (x.astype(np.int8),), {"to": "float32"}),
        Sample("to itself", (x,), {"to": "1"}),
    )


CAST = Operator(
    "Cast",
    _infer_cast,
    _te_cast,
    _cast_reference,
    _cast_samples,
    (Attribute("to", "string", "float32"),),
)


def _clip_reference(x: Array, given: Attributes) -> Array:
    return _clipped(x, given["min"], given["max"])


def _clip_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    (*plain, special) = unary_samples(random)
    return (
        *(Sample(s.label, s.inputs, {"min": -0.5, "max": 0.75}) for s in (*plain, special)),
        Sample("no bounds", special.inputs),
        Sample("upper bound", special.inputs, {"max": 6.0}),
    )


def _clip() -> Operator:
    bounds = (Attribute("min", "number"), Attribute("max", "number"))
    plain = _elementwise(
        "Clip", lambda x, a: _limited(x, a["min"], a["max"]), _clip_reference, bounds, True
    )
    return Operator(
        "Clip",
        plain.infer,
        plain.te,
        plain.reference,
        _clip_samples,
        bounds,
        (1, 3),
        {1: "min", 2: "max"},
    )


UNARY_OPERATORS: tuple[Operator, ...] = (
    _called("Exp", "exp", np.exp),
    _called("Log", "log", np.log),
    _called("Tanh", "tanh", np.tanh),
    _called("Erf", "erf", _erf),
    _called("Sqrt", "sqrt", np.sqrt),
    _called("Sigmoid", "sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    _called("Abs", "abs", np.abs, integers=True),
    _called("Neg", "neg", np.negative, integers=True),
    _called("Floor", "floor", np.floor),
    _called("Ceil", "ceil", np.ceil),
    _called("Sin", "sin", np.sin),
    _called("Cos", "cos", np.cos),
    _called("Sign", "sign", np.sign, integers=True),
    _elementwise("Reciprocal", lambda x, _: 1.0 / x, lambda x, _: 1 / x),
    _elementwise(
        "Relu", lambda x, _: _limited(x, 0.0, None), lambda x, _: np.maximum(x, 0), (), True
    ),
    _elementwise(
        "LeakyRelu",
        lambda x, a: _leaky(x, a["alpha"]),
        lambda x, a: np.where(x < 0, x * a["alpha"], x),
        (_float("alpha", 0.01),),
    ),
    _elementwise(
        "ThresholdedRelu",
        lambda x, a: Select(Binary("gt", x, Const(a["alpha"], x.dtype)), x, Const(0.0, x.dtype)),
        lambda x, a: np.where(x > a["alpha"], x, 0),
        (_float("alpha", 1.0),),
    ),
    _elementwise(
        "Elu",
        lambda x, a: _elu(x, a["alpha"]),
        lambda x, a: np.where(x < 0, a["alpha"] * (np.exp(x) - 1), x),
        (_float("alpha", 1.0),),
    ),
    _elementwise(
        "HardSigmoid",
        lambda x, a: _hard_sigmoid(x, a["alpha"], a["beta"]),
        lambda x, a: np.clip(a["alpha"] * x + a["beta"], 0, 1),
        (_float("alpha", 0.2), _float("beta", 0.5)),
    ),
    _elementwise(
        "HardSwish",
        lambda x, _: x * _hard_sigmoid(x, 1 / 6, 0.5),
        lambda x, _: x * np.clip(x / 6 + 0.5, 0, 1),
    ),
    _elementwise("Softplus", lambda x, _: _softplus(x), lambda x, _: np.logaddexp(x, 0)),
    _elementwise(
        "Softsign", lambda x, _: x / (call("abs", x) + 1.0), lambda x, _: x / (1 + np.abs(x))
    ),
    _elementwise(
        "Gelu",
        _gelu,
        _gelu_reference,
        (Attribute("approximate", "string", "none", ("none", "tanh")),),
    ),
    _clip(),
    CAST,
    _not("Not", "not", np.logical_not, True),
    _not("IsNaN", "isnan", np.isnan, False),
)
