"""Reductions over axes, and the position of an extreme value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    normalized_axis,
)
from autosched.ops.samples import normal
from autosched.ops.views import viewed
from autosched.te.combiner import highest, lowest
from autosched.te.expr import Expr, Index, call
from autosched.te.integer import Int
from autosched.te.workload import Reduction, Tensor, compute, reduce_over

Scalar = Callable[[Expr], Expr]


def reduced_axes(rank: int, given: Attributes) -> tuple[int, ...]:
    """The axes to reduce, from the front; all of them where none is given."""
    axes = given["axes"]
    if axes is None or not len(axes):
        return () if given["noop_with_empty_axes"] else tuple(range(rank))
    found = tuple(normalized_axis(a, rank, "axes entry") for a in axes)
    if len(set(found)) != len(found):
        raise InvalidInput(f"axes {tuple(axes)} name an axis twice")
    return tuple(sorted(found))


def kept_shape(shape: Sequence[int], axes: Sequence[int], keep: bool) -> tuple[int, ...]:
    """The shape after reducing `axes`, which stay with extent 1 if `keep`."""
    return tuple(1 if d in axes else n for d, n in enumerate(shape) if keep or d not in axes)


def reduction(x: Tensor, axes: Sequence[int], combiner: str, scalar: Scalar) -> Tensor:
    """`scalar` of every element combined over `axes`, which are dropped."""
    shape = x.static_shape
    kept = {f"a{d}": n for d, n in enumerate(shape) if d not in axes}
    gone = {f"k{d}": shape[d] for d in axes}
    places = [*(d for d in range(len(shape)) if d not in axes), *axes]

    def body(*at: Int) -> Reduction:
        def term(*reduced: Int) -> Expr:
            by_place = dict(zip(places, (*at, *reduced), strict=True))
            return scalar(x[tuple(by_place[d] for d in range(len(shape)))])

        return reduce_over(combiner, dict(gone), term)

    (y,) = compute(f"reduce_{combiner}", dict(kept), body)
    return y


def count(shape: Sequence[int], axes: Sequence[int]) -> int:
    return int(np.prod([shape[d] for d in axes], dtype=np.int64))


def finished(x: Tensor, y: Tensor, given: Attributes, after: Scalar | None) -> tuple[Tensor, ...]:
    """`after` of each result, in the shape that `keepdims` asks for."""
    if after is not None:
        (y,) = compute("reduced", axes_of(y.static_shape), lambda *at: after(y[at]))
    axes = reduced_axes(len(x.shape), given)
    return (viewed(y, kept_shape(x.static_shape, axes, bool(given["keepdims"]))),)


REDUCE_ATTRIBUTES = (
    Attribute("axes", "ints"),
    Attribute("keepdims", "int", 1, (0, 1)),
    Attribute("noop_with_empty_axes", "int", 0, (0, 1)),
)


def _infer(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    if x.dtype == "bool":
        raise InvalidInput(f"input {x} has to be numbers")
    axes = reduced_axes(x.rank, given)
    return (TensorType(kept_shape(x.shape, axes, bool(given["keepdims"])), x.dtype),)


def _infer_float(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    assert inputs[0] is not None
    float_type(inputs[0])
    return _infer(inputs, given)


def _length(inputs: Types, given: Attributes) -> int:
    assert inputs[0] is not None
    return count(inputs[0].shape, reduced_axes(inputs[0].rank, given))


def reduce_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = normal(random, 2, 3, 5, 7)
    special = np.array([[1, np.nan, 2], [np.inf, 1, 0], [-0.0, 0.0, -1]], np.float32)
    return (
        Sample("last axis", (x,), {"axes": [-1]}),
        Sample("two axes dropped", (x,), {"axes": [1, 3], "keepdims": 0}),
        Sample("all axes", (x,)),
        Sample("no axes", (x,), {"noop_with_empty_axes": 1}),
        Sample("extent 1", (x[:, :1],), {"axes": [1], "keepdims": 0}),
        Sample("no rows", (x[:0],), {"axes": [2]}),
        Sample("nothing to reduce", (x[:, :0],), {"axes": [1]}),
        Sample("special values", (special,), {"axes": [1]}),
    )


def _integer_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    whole = random.integers(-5, 6, (4, 3)).astype(np.int32)
    return (*reduce_samples(random), Sample("int32", (whole,), {"axes": [0]}))


def _identity(value: Expr) -> Expr:
    return value


def _reduce(
    name: str,
    combiner: str,
    meaning: Callable[..., Any],
    before: Scalar = _identity,
    after: Scalar | None = None,
) -> Operator:
    """`after(combine(before(x)))`; without `after`, integers are accepted too."""
    floats_only = after is not None

    def te(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
        x = inputs[0]
        assert x is not None
        y = reduction(x, reduced_axes(len(x.shape), given), combiner, before)
        return finished(x, y, given, after)

    def reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
        x = inputs[0]
        assert x is not None
        axes = reduced_axes(x.ndim, given)
        with np.errstate(all="ignore"):
            return (np.asarray(meaning(x, axis=axes, keepdims=bool(given["keepdims"])), x.dtype),)

    return Operator(
        name,
        _infer_float if floats_only else _infer,
        te,
        reference,
        reduce_samples if floats_only else _integer_samples,
        REDUCE_ATTRIBUTES,
        (1, 2),
        {1: "axes"},
        _length,
    )


def _te_mean(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    x = inputs[0]
    assert x is not None
    axes = reduced_axes(len(x.shape), given)
    total = reduction(x, axes, "sum", _identity)
    return finished(x, total, given, lambda s: s / float(count(x.static_shape, axes)))


def _mean_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    x = inputs[0]
    assert x is not None
    axes = reduced_axes(x.ndim, given)
    total = x.sum(axis=axes, keepdims=bool(given["keepdims"]))
    with np.errstate(all="ignore"):
        return (np.asarray(total / np.asarray(count(x.shape, axes), x.dtype)),)


def _te_log_sum_exp(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    """log(sum(exp(x - max))) + max, which does not overflow."""
    x = inputs[0]
    assert x is not None
    axes = reduced_axes(len(x.shape), given)
    top = reduction(x, axes, "max", _identity)
    kept = [d for d in range(len(x.shape)) if d not in axes]
    (powers,) = compute(
        "powers",
        axes_of(x.static_shape),
        lambda *at: call("exp", x[at] - top[tuple(at[d] for d in kept)]),
    )
    total = reduction(powers, axes, "sum", _identity)
    (y,) = compute(
        "log_sum_exp", axes_of(total.static_shape), lambda *at: call("log", total[at]) + top[at]
    )
    return finished(x, y, given, None)


def _log_sum_exp_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    x = inputs[0]
    assert x is not None
    axes = reduced_axes(x.ndim, given)
    top = x.max(axis=axes, keepdims=True, initial=-np.inf)
    with np.errstate(divide="ignore"):
        y = np.log(np.exp(x - top).sum(axis=axes, keepdims=True)) + top
    return (y.reshape(kept_shape(x.shape, axes, bool(given["keepdims"]))),)


def _finite_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    odd = ("special values", "nothing to reduce")
    return tuple(s for s in reduce_samples(random) if s.label not in odd)


def _arg_axis(shape: Sequence[int], given: Attributes) -> int:
    axis = normalized_axis(given["axis"], len(shape))
    if shape[axis] == 0:
        raise InvalidInput(f"axis {axis} of {tuple(shape)} is empty and has no extreme value")
    return axis


def _infer_arg(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    axis = _arg_axis(x.shape, given)
    return (TensorType(kept_shape(x.shape, (axis,), bool(given["keepdims"])), "int64"),)


def arg_extreme(x: Tensor, axis: int, combiner: str, last: bool) -> Tensor:
    """The position of the extreme value, the first or the last of equal ones."""
    length = x.static_shape[axis]
    kept = {f"a{d}": n for d, n in enumerate(x.static_shape) if d != axis}

    def body(*at: Int) -> Reduction:
        def term(k: Int) -> tuple[Expr, Expr]:
            place = length - 1 - k if last else k
            return x[(*at[:axis], place, *at[axis:])], Index(k)

        return reduce_over(combiner, {"k": length}, term)

    _, where = compute(combiner, dict(kept), body)
    if not last:
        return where
    (y,) = compute("from_end", axes_of(where.static_shape), lambda *at: length - 1 - where[at])
    return y


def _arg(name: str, combiner: str, meaning: Callable[..., Any]) -> Operator:
    def te(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
        x = inputs[0]
        assert x is not None
        axis = _arg_axis(x.static_shape, given)
        y = arg_extreme(x, axis, combiner, bool(given["select_last_index"]))
        return (viewed(y, kept_shape(x.static_shape, (axis,), bool(given["keepdims"]))),)

    def reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
        x = inputs[0]
        assert x is not None
        axis = _arg_axis(x.shape, given)
        if given["select_last_index"]:
            where = x.shape[axis] - 1 - meaning(np.flip(x, axis), axis=axis)
        else:
            where = meaning(x, axis=axis)
        kept = np.expand_dims(where, axis) if given["keepdims"] else where
        return (np.asarray(kept, np.int64),)

    def samples(random: np.random.Generator) -> tuple[Sample, ...]:
        x = normal(random, 3, 5, 7)
        ties = np.array([[1, 3, 3, 0], [np.nan, 5, np.nan, 5], [-np.inf] * 4], np.float32)
        return (
            Sample("first axis", (x,)),
            Sample("last axis dropped", (x,), {"axis": -1, "keepdims": 0}),
            Sample("ties and nan", (ties,), {"axis": 1}),
            Sample("last of ties", (ties[[0, 2]],), {"axis": 1, "select_last_index": 1}),
            Sample("int32", (random.integers(0, 3, (4, 9)).astype(np.int32),), {"axis": 1}),
            Sample("extent 1", (x[:, :1],), {"axis": 1}),
        )

    attributes = (
        Attribute("axis", "int", 0),
        Attribute("keepdims", "int", 1, (0, 1)),
        Attribute("select_last_index", "int", 0, (0, 1)),
    )
    return Operator(name, _infer_arg, te, reference, samples, attributes)


def _largest(x: Array, **options: Any) -> Any:
    return np.max(x, initial=lowest(str(x.dtype)).value, **options)


def _smallest(x: Array, **options: Any) -> Any:
    return np.min(x, initial=highest(str(x.dtype)).value, **options)


def _square(x: Expr) -> Expr:
    return x * x


def _log(x: Expr) -> Expr:
    return call("log", x)


REDUCTION_OPERATORS: tuple[Operator, ...] = (
    _reduce("ReduceSum", "sum", np.sum),
    _reduce("ReduceProd", "product", np.prod),
    _reduce("ReduceMax", "max", _largest),
    _reduce("ReduceMin", "min", _smallest),
    _reduce("ReduceSumSquare", "sum", lambda x, **k: np.sum(x * x, **k), _square),
    _reduce("ReduceL1", "sum", lambda x, **k: np.sum(np.abs(x), **k), lambda x: call("abs", x)),
    _reduce(
        "ReduceL2",
        "sum",
        lambda x, **k: np.sqrt(np.sum(x * x, **k)),
        _square,
        lambda s: call("sqrt", s),
    ),
    _reduce("ReduceLogSum", "sum", lambda x, **k: np.log(np.sum(x, **k)), _identity, _log),
    Operator(
        "ReduceMean",
        _infer_float,
        _te_mean,
        _mean_reference,
        reduce_samples,
        REDUCE_ATTRIBUTES,
        (1, 2),
        {1: "axes"},
        _length,
    ),
    Operator(
        "ReduceLogSumExp",
        _infer_float,
        _te_log_sum_exp,
        _log_sum_exp_reference,
        _finite_samples,
        REDUCE_ATTRIBUTES,
        (1, 2),
        {1: "axes"},
        _length,
    ),
    _arg("ArgMax", "argmax", np.argmax),
    _arg("ArgMin", "argmin", np.argmin),
)
