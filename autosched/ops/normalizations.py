"""Normalizations and softmax, each as the stages a schedule may fuse into one kernel.

Batch normalization keeps what depends on its parameters alone in stages over the channels, so that constant
parameters fold: scale = gamma * rsqrt(variance + eps), shift = beta - mean * scale, y = x * scale + shift.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.ops.binary_operators import same_dtype
from autosched.ops.broadcasting import axes_of, broadcast, read_broadcast
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
    given,
    normalized_axis,
)
from autosched.ops.reductions import count, reduction
from autosched.ops.samples import normal
from autosched.ops.softmax_stages import log_softmax, softmax
from autosched.ops.views import viewed
from autosched.te.expr import Const, Expr, Select, binary, call, condition
from autosched.te.integer import Int, all_of, less, less_equal
from autosched.te.workload import Reduction, Tensor, compute, reduce_over

EPSILON = Attribute("epsilon", "float", float(np.float32(1e-5)))


def _check_channels(inputs: Types, channels: int) -> None:
    for parameter in inputs[1:]:
        if parameter is not None and parameter.shape != (channels,):
            raise InvalidInput(f"parameter {parameter} has to have shape ({channels},)")


def _infer_batch(inputs: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    if x.rank < 2:
        raise InvalidInput(f"input {x} has to have a channel dimension")
    _check_channels(inputs, x.shape[1])
    same_dtype(inputs)
    return (float_type(x),)


def _te_batch(inputs: Tensors, attributes: Attributes) -> tuple[Tensor, ...]:
    x, gamma, beta, mean, variance = inputs
    assert x
    assert gamma
    assert beta
    assert mean
    assert variance
    channels = {"c": x.static_shape[1]}
    eps = attributes["epsilon"]
    (scale,) = compute(
        "scale", dict(channels), lambda c: gamma[c] * call("rsqrt", variance[c] + eps)
    )
    (shift,) = compute("shift", dict(channels), lambda c: beta[c] - mean[c] * scale[c])
    return compute(
        "batch_norm",
        axes_of(x.static_shape),
        lambda *at: x[at] * scale[at[1]] + shift[at[1]],
    )


def _channels(parameter: Array, rank: int) -> Array:
    return parameter.reshape(-1, *(1,) * (rank - 2))


def _batch_reference(inputs: Arrays, attributes: Attributes) -> tuple[Array, ...]:
    x, gamma, beta, mean, variance = inputs
    assert x is not None
    assert gamma is not None
    assert beta is not None
    assert mean is not None
    assert variance is not None
    centred = x - _channels(mean, x.ndim)
    root = np.sqrt(_channels(variance, x.ndim) + attributes["epsilon"])
    y = centred / root * _channels(gamma, x.ndim) + _channels(beta, x.ndim)
    return (np.asarray(y, x.dtype),)


def _batch_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    def case(shape: Sequence[int], **more: object) -> Sample:
        rows = [normal(random, shape[1]) for _ in range(3)]
        variance = random.uniform(0.5, 1.5, shape[1]).astype(np.float32)
        return Sample(f"shape {shape}", (normal(random, *shape), *rows, variance), dict(more))

    return (
        case((2, 3, 5, 7)),
        case((4, 6), epsilon=1e-2),
        case((1, 1, 1)),
        case((0, 3, 2)),
        case((1, 2, 3, 2, 3)),
    )


def _layer_shapes(shape: Sequence[int], attributes: Attributes) -> tuple[int, tuple[int, ...]]:
    """The first normalized axis, and the shape with the normalized ones of extent 1."""
    axis = normalized_axis(attributes["axis"], len(shape))
    return axis, (*shape[:axis], *(1,) * (len(shape) - axis))


def _infer_layer(inputs: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    axis, statistics = _layer_shapes(x.shape, attributes)
    same_dtype(inputs)
    for parameter in (given(inputs, 1), given(inputs, 2)):
        if parameter is not None and broadcast(parameter.shape, x.shape[axis:]) != x.shape[axis:]:
            raise InvalidInput(f"parameter {parameter} does not broadcast to {x.shape[axis:]}")
    row = TensorType(statistics, x.dtype)
    return float_type(x), row, row


def _te_layer(inputs: Tensors, attributes: Attributes) -> tuple[Tensor, ...]:
    """Mean, mean square of what is left, then the normalized value."""
    x, gamma, beta = inputs[0], given(inputs, 1), given(inputs, 2)
    assert x is not None
    axis, statistics = _layer_shapes(x.static_shape, attributes)
    mean, inverse = moments(x, range(axis, len(x.shape)), attributes["epsilon"])

    def body(*at: Int) -> Expr:
        y = (x[at] - mean[at[:axis]]) * inverse[at[:axis]]
        y = y if gamma is None else y * read_broadcast(gamma, at)
        return y if beta is None else y + read_broadcast(beta, at)

    (y,) = compute("layer_norm", axes_of(x.static_shape), body)
    return y, viewed(mean, statistics), viewed(inverse, statistics)


def moments(x: Tensor, axes: Sequence[int], epsilon: float) -> tuple[Tensor, Tensor]:
    """Mean over the last `axes` and 1 / sqrt(variance + epsilon)."""
    size = float(count(x.static_shape, axes))
    first = min(axes)
    total = reduction(x, axes, "sum", lambda v: v)
    outer = axes_of(total.static_shape)
    (mean,) = compute("mean", dict(outer), lambda *at: total[at] / size)

    def body(*at: Int) -> Reduction:
        def term(*k: Int) -> Expr:
            centred = x[(*at, *k)] - mean[at]
            return centred * centred

        return reduce_over("sum", {f"k{d}": x.shape[d] for d in axes}, term)

    assert list(axes) == list(range(first, len(x.shape)))
    (squares,) = compute("squares", dict(outer), body)
    (inverse,) = compute(
        "inverse", dict(outer), lambda *at: call("rsqrt", squares[at] / size + epsilon)
    )
    return mean, inverse


def _layer_reference(inputs: Arrays, attributes: Attributes) -> tuple[Array, ...]:
    x, gamma, beta = inputs[0], given(inputs, 1), given(inputs, 2)
    assert x is not None
    axis, _ = _layer_shapes(x.shape, attributes)
    axes = tuple(range(axis, x.ndim))
    mean = x.mean(axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(x.var(axis=axes, keepdims=True) + attributes["epsilon"])
    y = (x - mean) * inverse
    y = y if gamma is None else y * gamma
    y = y if beta is None else y + beta
    return np.asarray(y, x.dtype), np.asarray(mean), np.asarray(inverse, x.dtype)


def _layer_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    return (
        Sample("last axis", (normal(random, 4, 7, 33), normal(random, 33), normal(random, 33))),
        Sample("no bias", (normal(random, 5, 16), normal(random, 16))),
        Sample(
            "two axes",
            (normal(random, 3, 4, 5), normal(random, 4, 5), normal(random, 5)),
            {"axis": 1},
        ),
        Sample("large mean", (normal(random, 2, 64) + 10, normal(random, 64)), {"epsilon": 1e-3}),
        Sample("no rows", (normal(random, 0, 3), normal(random, 3))),
    )


def _layer_length(inputs: Types, attributes: Attributes) -> int:
    assert inputs[0] is not None
    axis, _ = _layer_shapes(inputs[0].shape, attributes)
    return int(np.prod(inputs[0].shape[axis:], dtype=np.int64))


def _infer_instance(inputs: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    if x.rank < 3:
        raise InvalidInput(f"input {x} has to have spatial dimensions")
    return _infer_batch(inputs, attributes)


def _te_instance(inputs: Tensors, attributes: Attributes) -> tuple[Tensor, ...]:
    x, gamma, beta = inputs
    assert x
    assert gamma
    assert beta
    mean, inverse = moments(x, range(2, len(x.shape)), attributes["epsilon"])

    def body(n: Int, c: Int, *at: Int) -> Expr:
        return (x[(n, c, *at)] - mean[n, c]) * inverse[n, c] * gamma[c] + beta[c]

    return compute("instance_norm", axes_of(x.static_shape), body)


def _instance_reference(inputs: Arrays, attributes: Attributes) -> tuple[Array, ...]:
    x, gamma, beta = inputs
    assert x is not None
    assert gamma is not None
    assert beta is not None
    axes = tuple(range(2, x.ndim))
    root = np.sqrt(x.var(axis=axes, keepdims=True) + attributes["epsilon"])
    y = (x - x.mean(axis=axes, keepdims=True)) / root
    return (np.asarray(y * _channels(gamma, x.ndim) + _channels(beta, x.ndim), x.dtype),)


def _instance_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    shapes = ((2, 3, 5, 7), (1, 2, 9), (1, 1, 2, 3, 2))
    return tuple(
        Sample(f"shape {s}", (normal(random, *s), normal(random, s[1]), normal(random, s[1])))
        for s in shapes
    )


def _infer_softmax(inputs: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    normalized_axis(attributes["axis"], x.rank)
    return (float_type(x),)


def _softmax_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = normal(random, 3, 5, 7)
    far = np.array([[1e4, -1e4, 0], [-np.inf, 0, 1], [np.nan, 0, 1], [np.inf, 0, 1]], np.float32)
    return (
        Sample("last axis", (x,)),
        Sample("first axis", (x,), {"axis": 0}),
        Sample("middle axis", (x * 30,), {"axis": -2}),
        Sample("extent 1", (x[..., :1],)),
        Sample("special values", (far,)),
        Sample("no rows", (x[:0],)),
    )


def _softmax_length(inputs: Types, attributes: Attributes) -> int:
    assert inputs[0] is not None
    return inputs[0].shape[attributes["axis"]]


def _softmax(
    name: str,
    stages: Callable[[Tensor, int], Tensor],
    meaning: Callable[[Array, Array], Any],
) -> Operator:
    """`meaning` takes x - max and the sum of its exponentials."""

    def te(inputs: Tensors, attributes: Attributes) -> tuple[Tensor, ...]:
        x = inputs[0]
        assert x is not None
        return (stages(x, normalized_axis(attributes["axis"], len(x.shape))),)

    def reference(inputs: Arrays, attributes: Attributes) -> tuple[Array, ...]:
        x = inputs[0]
        assert x is not None
        axis = attributes["axis"]
        with np.errstate(all="ignore"):
            shifted = x - x.max(axis=axis, keepdims=True)
            return (np.asarray(meaning(shifted, np.exp(shifted).sum(axis=axis, keepdims=True))),)

    return Operator(
        name,
        _infer_softmax,
        te,
        reference,
        _softmax_samples,
        (Attribute("axis", "int", -1),),
        reduction_length=_softmax_length,
    )


LRN_ATTRIBUTES = (
    Attribute("alpha", "float", float(np.float32(1e-4))),
    Attribute("beta", "float", 0.75),
    Attribute("bias", "float", 1.0),
    Attribute("size", "int", 1),
)


def _infer_lrn(inputs: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    if x.rank < 2 or attributes["size"] < 1:
        raise InvalidInput(f"input {x} needs channels, and size {attributes['size']} at least 1")
    return (float_type(x),)


def _te_lrn(inputs: Tensors, attributes: Attributes) -> tuple[Tensor, ...]:
    x = inputs[0]
    assert x is not None
    size, channels = attributes["size"], x.static_shape[1]
    before = (size - 1) // 2

    def body(n: Int, c: Int, *at: Int) -> Reduction:
        def term(k: Int) -> Expr:
            where = c + k - before
            value = x[(n, where, *at)]
            inside = condition(all_of([less_equal(0, where), less(where, channels)]))
            return Select(inside, value * value, Const(0.0, x.dtype))

        return reduce_over("sum", {"k": size}, term)

    (squares,) = compute("squares", axes_of(x.static_shape), body)

    def normalized(*at: Int) -> Expr:
        level = squares[at] * (attributes["alpha"] / size) + attributes["bias"]
        return x[at] / binary("pow", level, attributes["beta"])

    return compute("lrn", axes_of(x.static_shape), normalized)


def _lrn_reference(inputs: Arrays, attributes: Attributes) -> tuple[Array, ...]:
    x = inputs[0]
    assert x is not None
    size = attributes["size"]
    squares = np.zeros_like(x)
    for c in range(x.shape[1]):
        low, high = max(0, c - (size - 1) // 2), c + size // 2 + 1
        squares[:, c] = (x[:, low:high] ** 2).sum(axis=1)
    level = attributes["bias"] + attributes["alpha"] / size * squares
    return (np.asarray(x / level ** attributes["beta"], x.dtype),)


def _lrn_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    return (
        Sample("size 5", (normal(random, 2, 7, 3, 4),), {"size": 5, "alpha": 0.5, "bias": 2.0}),
        Sample("even size", (normal(random, 1, 5, 3),), {"size": 4, "beta": 0.5}),
        Sample("size above channels", (normal(random, 1, 2, 3),), {"size": 9}),
    )


NORMALIZATION_OPERATORS: tuple[Operator, ...] = (
    Operator(
        "BatchNormalization",
        _infer_batch,
        _te_batch,
        _batch_reference,
        _batch_samples,
        (
            EPSILON,
            Attribute("momentum", "float", float(np.float32(0.9))),
            Attribute("training_mode", "int", 0, (0,)),
        ),
        (5, 5),
    ),
    Operator(
        "LayerNormalization",
        _infer_layer,
        _te_layer,
        _layer_reference,
        _layer_samples,
        (Attribute("axis", "int", -1), EPSILON, Attribute("stash_type", "int", 1, (1,))),
        (2, 3),
        reduction_length=_layer_length,
    ),
    Operator(
        "InstanceNormalization",
        _infer_instance,
        _te_instance,
        _instance_reference,
        _instance_samples,
        (EPSILON,),
        (3, 3),
        reduction_length=lambda t, a: int(np.prod(t[0].shape[2:], dtype=np.int64)) if t[0] else 1,
    ),
    _softmax("Softmax", softmax, lambda shifted, total: np.exp(shifted) / total),
    _softmax("LogSoftmax", log_softmax, lambda shifted, total: shifted - np.log(total)),
    Operator(
        "LRN",
        _infer_lrn,
        _te_lrn,
        _lrn_reference,
        _lrn_samples,
        LRN_ATTRIBUTES,
        reduction_length=lambda _, a: int(a["size"]),
    ),
)
