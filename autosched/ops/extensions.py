"""Operators that make a tensor larger: padding, broadcasting, repetition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.ops.broadcasting import axes_of, broadcast, read_broadcast
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
    normalized_axis,
)
from autosched.ops.samples import normal
from autosched.te.dtype import is_float
from autosched.te.expr import Const, Expr, Select, condition
from autosched.te.integer import Int, all_of, as_int, less, less_equal, maximum, minimum, select
from autosched.te.workload import Tensor, compute

Shape = tuple[int, ...]
ShapeRule = Callable[[Shape, Attributes], Shape]


def pad_widths(rank: int, given: Attributes) -> list[tuple[int, int]]:
    """Elements added before and after each dimension."""
    axes = given["axes"] or tuple(range(rank))
    pads = given["pads"]
    if len(pads) != 2 * len(axes):
        raise InvalidInput(f"pads is {pads}; {2 * len(axes)} integers are wanted")
    widths = [(0, 0)] * rank
    for position, axis in enumerate(axes):
        place = normalized_axis(axis, rank, "axes entry")
        widths[place] = (pads[position], pads[position + len(axes)])
    return widths


def _infer_pad(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    widths = pad_widths(x.rank, given)
    if given["mode"] == "reflect":
        for extent, pair in zip(x.shape, widths, strict=True):
            if max(pair) >= extent and max(pair) > 0:
                raise InvalidInput(f"pads {given['pads']} reflect more than {x} has")
    shape = tuple(n + b + a for n, (b, a) in zip(x.shape, widths, strict=True))
    return (TensorType(shape, x.dtype),)


def _mirrored(position: Int, extent: int) -> Int:
    back = 2 * (extent - 1) - position
    low = select(less(position, 0), 0 - position, position)
    return select(less(extent - 1, position), back, low)


def _te_pad(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    x = inputs[0]
    assert x is not None
    widths, extents = pad_widths(len(x.shape), given), x.static_shape
    shape = [n + b + a for n, (b, a) in zip(extents, widths, strict=True)]

    def body(*at: Int) -> Expr:
        where = [i - b for i, (b, _) in zip(at, widths, strict=True)]
        if given["mode"] == "edge":
            return x[
                tuple(maximum(minimum(i, n - 1), 0) for i, n in zip(where, extents, strict=True))
            ]
        if given["mode"] == "reflect":
            return x[tuple(_mirrored(i, n) for i, n in zip(where, extents, strict=True))]
        tests = [
            t
            for i, n, pair in zip(where, extents, widths, strict=True)
            for t, needed in ((less_equal(0, i), pair[0] > 0), (less(i, n), pair[1] > 0))
            if needed
        ]
        test = all_of(tests)
        fill = given["constant_value"]
        value = Const(float(fill) if is_float(x.dtype) else int(fill), x.dtype)
        return (
            x[tuple(where)] if test.is_constant else Select(condition(test), x[tuple(where)], value)
        )

    return compute("pad", axes_of(shape), body)


def _pad_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    x = inputs[0]
    assert x is not None
    widths = pad_widths(x.ndim, given)
    grown = [(max(b, 0), max(a, 0)) for b, a in widths]
    more: dict[str, Any] = {"mode": given["mode"]}
    if given["mode"] == "constant":
        more["constant_values"] = given["constant_value"]
    y = np.pad(x, grown, **more)
    cut = tuple(slice(max(-b, 0), y.shape[d] - max(-a, 0)) for d, (b, a) in enumerate(widths))
    return (y[cut],)


def _pad_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = normal(random, 3, 4, 5)
    return (
        Sample("constant", (x,), {"pads": [1, 0, 2, 0, 3, 1], "constant_value": -1.5}),
        Sample("cropped", (x,), {"pads": [0, -1, 1, 0, -1, 0]}),
        Sample("reflect", (x,), {"pads": [0, 2, 1, 0, 3, 4], "mode": "reflect"}),
        Sample("edge", (x,), {"pads": [5, 0, 1, 0, 3, 0], "mode": "edge"}),
        Sample("two axes", (x,), {"pads": [1, 2, 3, 0], "axes": [0, -1]}),
        Sample("nothing", (x,), {"pads": [0] * 6}),
    )


def _expanded(shape: Shape, given: Attributes) -> Shape:
    return broadcast(shape, tuple(given["shape"]))


def _infer_expand(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    return (TensorType(_expanded(x.shape, given), x.dtype),)


def _te_expand(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    x = inputs[0]
    assert x is not None
    shape = _expanded(x.static_shape, given)
    return compute("expand", axes_of(shape), lambda *at: read_broadcast(x, at))


def _expand_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    x = inputs[0]
    assert x is not None
    return (np.broadcast_to(x, _expanded(x.shape, given)).copy(),)


def _expand_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    return (
        Sample("rows", (normal(random, 1, 5),), {"shape": [3, 5]}),
        Sample("one", (normal(random, 3, 1),), {"shape": [2, 1, 4]}),
    )


def _tiled(shape: Shape, given: Attributes) -> Shape:
    if len(given["repeats"]) != len(shape):
        raise InvalidInput(f"repeats is {given['repeats']}; {len(shape)} integers are wanted")
    return tuple(n * r for n, r in zip(shape, given["repeats"], strict=True))


def _infer_tile(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    return (TensorType(_tiled(x.shape, given), x.dtype),)


def _te_tile(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    x = inputs[0]
    assert x is not None
    extents, shape = x.static_shape, _tiled(x.static_shape, given)
    if 0 in shape:
        return compute("tile", axes_of(shape), lambda *at: x[(as_int(0),) * len(shape)])
    return compute(
        "tile",
        axes_of(shape),
        lambda *at: x[tuple(i % n for i, n in zip(at, extents, strict=True))],
    )


def _tile_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    x = inputs[0]
    assert x is not None
    return (np.tile(x, given["repeats"]),)


def _tile_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    return (
        Sample("both axes", (normal(random, 2, 3),), {"repeats": [3, 2]}),
        Sample("none", (normal(random, 2, 3),), {"repeats": [0, 2]}),
    )


EXTENSION_OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Pad",
        _infer_pad,
        _te_pad,
        _pad_reference,
        _pad_samples,
        (
            Attribute("pads", "ints", REQUIRED),
            Attribute("constant_value", "number", 0.0),
            Attribute("axes", "ints"),
            Attribute("mode", "string", "constant", ("constant", "reflect", "edge")),
        ),
        (1, 4),
        {1: "pads", 2: "constant_value", 3: "axes"},
    ),
    Operator(
        "Expand",
        _infer_expand,
        _te_expand,
        _expand_reference,
        _expand_samples,
        (Attribute("shape", "ints", REQUIRED),),
        (1, 2),
        {1: "shape"},
    ),
    Operator(
        "Tile",
        _infer_tile,
        _te_tile,
        _tile_reference,
        _tile_samples,
        (Attribute("repeats", "ints", REQUIRED),),
        (1, 2),
        {1: "repeats"},
    ),
)
