"""Pools over windows, and over whole images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from autosched.errors import InvalidInput
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
    float_type,
)
from autosched.ops.reductions import reduction
from autosched.ops.samples import normal
from autosched.ops.views import viewed
from autosched.ops.window_attributes import WINDOW_ATTRIBUTES, spatial_rank, windows_of
from autosched.ops.window_references import tap_view
from autosched.ops.windows import CHANNEL_FIRST, Windows, inside
from autosched.te.combiner import lowest
from autosched.te.expr import Const, Expr, Index, Select, cast, condition
from autosched.te.integer import Int, ceil_div, maximum, minimum
from autosched.te.integer import product as int_product
from autosched.te.workload import Reduction, Tensor, compute, reduce_over

POOL_ATTRIBUTES = (
    Attribute("kernel_shape", "ints", REQUIRED),
    *WINDOW_ATTRIBUTES[1:],
    Attribute("ceil_mode", "int", 0, (0, 1)),
)


def _geometry(shape: Sequence[int], given: Attributes) -> tuple[Windows, tuple[int, ...]]:
    windows = windows_of(shape[2:], given["kernel_shape"], given)
    return windows, windows.output(shape[2:], bool(given["ceil_mode"]))


def _infer_pool(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    spatial_rank(x)
    windows, output = _geometry(x.shape, given)
    for before, after, size in zip(windows.before, windows.after, windows.kernel, strict=True):
        if given["auto_pad"] == "NOTSET" and max(before, after) >= size:
            raise InvalidInput(f"pads {given['pads']} have to be smaller than the window {size}")
    return (TensorType((*x.shape[:2], *output), x.dtype),)


def _infer_average(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    assert inputs[0] is not None
    float_type(inputs[0])
    return _infer_pool(inputs, given)


def _pooled(
    x: Tensor, given: Attributes, combiner: str, otherwise: Callable[[Tensor], Expr]
) -> Tensor:
    """Every window combined; positions in the padding stand for `otherwise`."""
    windows, output = _geometry(x.static_shape, given)
    extents = x.static_shape[2:]
    axes = CHANNEL_FIRST.axes(
        x.static_shape[0],
        dict(zip(windows.names, output, strict=True)),
        {"c": x.static_shape[1]},
    )
    over = [_overhangs(windows, d, extents[d], output[d]) for d in range(windows.rank)]
    reduce = {f"r{n}": k for n, k in zip(windows.names, windows.kernel, strict=True)}

    def body(n: Int, c: Int, *at: Int) -> Reduction:
        def term(*taps: Int) -> Expr:
            where = [windows.position(d, at[d], taps[d]) for d in range(windows.rank)]
            test = inside(where, extents, over)
            value = x[(n, c, *where)]
            if test.is_constant:
                return value
            return Select(condition(test), value, otherwise(x))

        return reduce_over(combiner, dict(reduce), term)

    (y,) = compute("pool", dict(axes), body)
    return y


def _overhangs(windows: Windows, d: int, extent: int, output: int) -> bool:
    """Whether a window reaches outside the tensor."""
    last = windows.stride[d] * (output - 1) + windows.dilation[d] * (windows.kernel[d] - 1)
    return windows.before[d] > 0 or last - windows.before[d] >= extent


def _te_max(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    x = inputs[0]
    assert x is not None
    return (_pooled(x, given, "max", lambda t: lowest(t.dtype)),)


def _te_average(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    """The sum of each window, then its quotient by how many elements count."""
    x = inputs[0]
    assert x is not None
    total = _pooled(x, given, "sum", lambda t: Const(0.0, t.dtype))
    windows, _ = _geometry(x.static_shape, given)
    axes = dict(zip(("n", "c", *windows.names), total.shape, strict=True))

    def body(n: Int, c: Int, *at: Int) -> Expr:
        size = _counted(windows, at, x.static_shape[2:], bool(given["count_include_pad"]))
        value = total[(n, c, *at)]
        if size.is_constant:
            return value / float(size.value)
        return value / cast(x.dtype, Index(size))

    return compute("average", dict(axes), body)


def _counted(windows: Windows, at: Sequence[Int], extents: Sequence[int], padding: bool) -> Int:
    """How many elements of the window at `at` lie in the tensor, or in it and its padding."""
    sizes: list[Int] = []
    for d, position in enumerate(at):
        step, size = windows.dilation[d], windows.kernel[d]
        low = -windows.before[d] if padding else 0
        high = extents[d] + (windows.after[d] if padding else 0)
        start = position * windows.stride[d] - windows.before[d]
        first, end = ceil_div(low - start, step), ceil_div(high - start, step)
        sizes.append(minimum(end, size) - maximum(first, 0))
    return int_product(sizes)


def _padded(x: Array, windows: Windows, output: Sequence[int], value: float) -> Array:
    """Channel-last data extended as far as any window reaches."""
    needed = [
        s * (n - 1) + d * (k - 1) + 1
        for s, n, d, k in zip(windows.stride, output, windows.dilation, windows.kernel, strict=True)
    ]
    after = [
        max(need - b - extent, a)
        for need, b, a, extent in zip(
            needed, windows.before, windows.after, x.shape[1:-1], strict=True
        )
    ]
    widths = [(0, 0), *zip(windows.before, after, strict=True), (0, 0)]
    return np.pad(x, widths, constant_values=value)


def _taps(x: Array, given: Attributes, value: float) -> Array:
    """All elements that windows read: taps first, then (N, output, C)."""
    windows, output = _geometry(x.shape, given)
    extended = _padded(np.moveaxis(x, 1, -1), windows, output, value)
    every = product(*(range(k) for k in windows.kernel))
    return np.stack([tap_view(extended, windows, tap, output) for tap in every])


def _max_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    x = inputs[0]
    assert x is not None
    floats = np.issubdtype(x.dtype, np.floating)
    least = -np.inf if floats else float(np.iinfo(x.dtype).min)
    return (np.moveaxis(_taps(x, given, least).max(axis=0), -1, 1),)


def _average_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    x = inputs[0]
    assert x is not None
    windows, output = _geometry(x.shape, given)
    total = _taps(x, given, 0.0).sum(axis=0)
    counts: Array = np.ones(())
    for d, extent in enumerate(x.shape[2:]):
        low = -windows.before[d] if given["count_include_pad"] else 0
        high = extent + (windows.after[d] if given["count_include_pad"] else 0)
        taps = np.arange(windows.kernel[d]) * windows.dilation[d] - windows.before[d]
        where = np.arange(output[d])[:, None] * windows.stride[d] + taps
        counts = np.multiply.outer(counts, ((where >= low) & (where < high)).sum(axis=1))
    return (np.moveaxis(total / counts[..., None].astype(x.dtype), -1, 1),)


def _pool_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x, line, cube = (
        normal(random, 2, 3, 7, 8),
        normal(random, 1, 2, 11),
        normal(random, 1, 2, 3, 4, 5),
    )
    return (
        Sample("2x2", (x,), {"kernel_shape": [2, 2], "strides": [2, 2]}),
        Sample("3x3 padded", (x,), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        Sample("asymmetric", (x,), {"kernel_shape": [3, 2], "pads": [0, 1, 2, 0]}),
        Sample("ceil", (x,), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
        Sample("ceil padded", (x,), {"kernel_shape": [3, 3], "strides": [3, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}),
        Sample("ceil, window beyond the padding", (line,), {"kernel_shape": [14], "strides": [4], "pads": [1, 1], "ceil_mode": 1}),
        Sample("same", (x,), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        Sample("one dimension", (line,), {"kernel_shape": [4], "strides": [3]}),
        Sample("three dimensions", (cube,), {"kernel_shape": [2, 2, 2], "pads": [1, 0, 1, 0, 1, 0]}),
        Sample("whole image", (x,), {"kernel_shape": [7, 8]}),
        Sample("one element", (normal(random, 1, 1, 1, 1),), {"kernel_shape": [1, 1]}),
    )  # fmt: skip


def _max_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    special = normal(random, 1, 1, 4, 4)
    special[0, 0, 1, 1], special[0, 0, 3, 3] = np.nan, -np.inf
    whole = random.integers(-100, 100, (1, 2, 5, 5)).astype(np.int8)
    return (
        *_pool_samples(random),
        Sample(
            "dilated", (normal(random, 1, 2, 9, 9),), {"kernel_shape": [3, 3], "dilations": [2, 3]}
        ),
        Sample("nan", (special,), {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}),
        Sample("int8", (whole,), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    )


def _average_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    base = _pool_samples(random)
    padded = [s for s in base if "pads" in s.attributes or "ceil_mode" in s.attributes]
    more = [
        Sample(f"{s.label}, padding counts", s.inputs, {**s.attributes, "count_include_pad": 1})
        for s in padded
    ]
    line = {"kernel_shape": [3], "dilations": [2], "pads": [2, 1], "ceil_mode": 1, "strides": [2]}
    return (*base, *more, Sample("dilated", (normal(random, 1, 2, 10),), line))


def _window_length(inputs: Types, given: Attributes) -> int:
    return int(np.prod(given["kernel_shape"], dtype=np.int64))


def _infer_global(inputs: Types, _: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    rank = spatial_rank(float_type(x))
    return (TensorType((*x.shape[:2], *(1,) * rank), x.dtype),)


def _te_global_average(inputs: Tensors, _: Attributes) -> tuple[Tensor, ...]:
    x = inputs[0]
    assert x is not None
    total = reduction(x, range(2, len(x.shape)), "sum", lambda v: v)
    size = float(np.prod(x.static_shape[2:], dtype=np.int64))
    axes = dict(zip(("n", "c"), total.shape, strict=True))
    (y,) = compute("average", dict(axes), lambda n, c: total[n, c] / size)
    return (viewed(y, (*y.static_shape, *(1,) * (len(x.shape) - 2))),)


def _te_global_max(inputs: Tensors, _: Attributes) -> tuple[Tensor, ...]:
    x = inputs[0]
    assert x is not None
    y = reduction(x, range(2, len(x.shape)), "max", lambda v: v)
    return (viewed(y, (*y.static_shape, *(1,) * (len(x.shape) - 2))),)


def _global_reference(function: str) -> Callable[[Arrays, Attributes], tuple[Array, ...]]:
    def reference(inputs: Arrays, _: Attributes) -> tuple[Array, ...]:
        x = inputs[0]
        assert x is not None
        spatial = tuple(range(2, x.ndim))
        return (np.asarray(getattr(x, function)(axis=spatial, keepdims=True)),)

    return reference


def _global_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    shapes = ((2, 3, 7, 5), (1, 1, 1, 1), (2, 3, 11), (1, 2, 2, 3, 4), (0, 3, 2, 2))
    return tuple(Sample(f"shape {s}", (normal(random, *s),)) for s in shapes)


def _image_length(inputs: Types, _: Attributes) -> int:
    assert inputs[0] is not None
    return int(np.prod(inputs[0].shape[2:], dtype=np.int64))


POOL_OPERATORS: tuple[Operator, ...] = (
    Operator(
        "MaxPool",
        _infer_pool,
        _te_max,
        _max_reference,
        _max_samples,
        (*POOL_ATTRIBUTES, Attribute("storage_order", "int", 0, (0,))),
    ),
    Operator(
        "AveragePool",
        _infer_average,
        _te_average,
        _average_reference,
        _average_samples,
        (*POOL_ATTRIBUTES, Attribute("count_include_pad", "int", 0, (0, 1))),
        reduction_length=_window_length,
    ),
    Operator(
        "GlobalAveragePool",
        _infer_global,
        _te_global_average,
        _global_reference("mean"),
        _global_samples,
        reduction_length=_image_length,
    ),
    Operator(
        "GlobalMaxPool", _infer_global, _te_global_max, _global_reference("max"), _global_samples
    ),
)
