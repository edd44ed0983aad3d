"""Operators that move elements: views, permutations, slices, joins, padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.ops.binary_operators import present, same_dtype
from autosched.ops.broadcasting import axes_of, broadcast, read_broadcast
from autosched.ops.operator import (
    REQUIRED,
    UNLIMITED,
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
from autosched.ops.views import viewed
from autosched.te.dtype import is_float
from autosched.te.expr import Const, Expr, Select, condition
from autosched.te.integer import Int, all_of, as_int, less, less_equal, maximum, minimum, select
from autosched.te.workload import Tensor, compute

Shape = tuple[int, ...]
ShapeRule = Callable[[Shape, Attributes], Shape]


def _draw(random: np.random.Generator, *shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float32)


def _view(
    name: str,
    rule: ShapeRule,
    samples: Callable[[np.random.Generator], tuple[Sample, ...]],
    attributes: tuple[Attribute, ...] = (),
    *,
    static: dict[int, str] | None = None,
    n_inputs: tuple[int, float] = (1, 1),
) -> Operator:
    """The same elements in the same order under the shape that `rule` gives."""

    def infer(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
        x = inputs[0]
        assert x is not None
        return (TensorType(rule(x.shape, given), x.dtype),)

    def te(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
        x = inputs[0]
        assert x is not None
        return (viewed(x, rule(x.static_shape, given)),)

    def reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
        x = inputs[0]
        assert x is not None
        return (x.reshape(rule(x.shape, given)),)

    return Operator(name, infer, te, reference, samples, attributes, n_inputs, static or {})


def _reshaped(shape: Shape, given: Attributes) -> Shape:
    """0 copies a dimension (unless allowzero), -1 is worked out."""
    wanted = list(given["shape"])
    for d, extent in enumerate(wanted):
        if extent == 0 and not given["allowzero"]:
            if d >= len(shape):
                raise InvalidInput(f"shape {tuple(wanted)} copies dimension {d} of {shape}")
            wanted[d] = shape[d]
    total = int(np.prod(shape, dtype=np.int64))
    if wanted.count(-1) == 1:
        rest = int(np.prod([n for n in wanted if n != -1], dtype=np.int64))
        wanted[wanted.index(-1)] = total // rest if rest else 0
    if min(wanted, default=0) < 0 or int(np.prod(wanted, dtype=np.int64)) != total:
        raise InvalidInput(f"shape {tuple(given['shape'])} does not fit {total} elements {shape}")
    return tuple(wanted)


def _reshape_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = _draw(random, 2, 3, 4, 5)
    return (
        Sample("flat", (x,), {"shape": [-1]}),
        Sample("regrouped", (x,), {"shape": [6, 2, 10]}),
        Sample("odd cuts", (x,), {"shape": [8, 15]}),
        Sample("copied dimension", (x,), {"shape": [0, -1, 5]}),
        Sample("units", (x[:1, :, :1],), {"shape": [1, 3, 1, 5, 1]}),
        Sample("empty", (x[:0],), {"shape": [0, 60], "allowzero": 1}),
        Sample("scalar", (x[0, 0, 0, :1],), {"shape": []}),
    )


def _flattened(shape: Shape, given: Attributes) -> Shape:
    axis = (
        given["axis"] if given["axis"] == len(shape) else normalized_axis(given["axis"], len(shape))
    )
    outer, inner = shape[:axis], shape[axis:]
    return int(np.prod(outer, dtype=np.int64)), int(np.prod(inner, dtype=np.int64))


def _flatten_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = _draw(random, 2, 3, 4)
    return tuple(Sample(f"axis {a}", (x,), {"axis": a}) for a in (0, 1, 2, 3, -1))


def _squeezed(shape: Shape, given: Attributes) -> Shape:
    if given["axes"] is None:
        return tuple(n for n in shape if n != 1)
    axes = {normalized_axis(a, len(shape), "axes entry") for a in given["axes"]}
    for axis in axes:
        if shape[axis] != 1:
            raise InvalidInput(f"axis {axis} of {shape} has extent {shape[axis]}, not 1")
    return tuple(n for d, n in enumerate(shape) if d not in axes)


def _unsqueezed(shape: Shape, given: Attributes) -> Shape:
    rank = len(shape) + len(given["axes"])
    axes = {normalized_axis(a, rank, "axes entry") for a in given["axes"]}
    if len(axes) != len(given["axes"]):
        raise InvalidInput(f"axes {given['axes']} name an axis twice")
    rest = iter(shape)
    return tuple(1 if d in axes else next(rest) for d in range(rank))


def _squeeze_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = _draw(random, 1, 3, 1, 5)
    return (
        Sample("one axis", (x,), {"axes": [0]}),
        Sample("all", (x,)),
        Sample("back", (x,), {"axes": [-2]}),
    )


def _unsqueeze_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = _draw(random, 3, 5)
    return Sample("front and back", (x,), {"axes": [0, -1]}), Sample("middle", (x,), {"axes": [1]})


def _same_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    return Sample("matrix", (_draw(random, 3, 5),)), Sample("empty", (_draw(random, 0, 2),))


def _permutation(rank: int, given: Attributes) -> tuple[int, ...]:
    order = given["perm"]
    if order is None:
        return tuple(reversed(range(rank)))
    if sorted(order) != list(range(rank)):
        raise InvalidInput(f"perm is {tuple(order)}, no permutation of {rank} dimensions")
    return tuple(order)


def _infer_transpose(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    return (TensorType(tuple(x.shape[d] for d in _permutation(x.rank, given)), x.dtype),)


def _te_transpose(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    x = inputs[0]
    assert x is not None
    order = _permutation(len(x.shape), given)
    back = np.argsort(order).tolist()
    shape = [x.static_shape[d] for d in order]
    return compute("transpose", axes_of(shape), lambda *at: x[tuple(at[d] for d in back)])


def _transpose_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    x = inputs[0]
    assert x is not None
    return (np.transpose(x, given["perm"]),)


def _transpose_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = _draw(random, 2, 3, 4, 5)
    orders = ([0, 2, 1, 3], [3, 0, 2, 1], [0, 1, 2, 3])
    return (Sample("reversed", (x,)), *(Sample(str(p), (x,), {"perm": p}) for p in orders))


def slice_ranges(shape: Shape, given: Attributes) -> list[range]:
    """The positions kept in each dimension, ends clamped as ONNX (and Python) does."""
    starts, ends = given["starts"], given["ends"]
    axes = given["axes"] or tuple(range(len(starts)))
    steps = given["steps"] or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise InvalidInput(
            f"starts {starts}, ends {ends}, axes {axes}, steps {steps} differ in length"
        )
    ranges = [range(n) for n in shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step == 0:
            raise InvalidInput(f"steps {steps} has a zero")
        d = normalized_axis(axis, len(shape), "axes entry")
        stop = None if step < 0 and end < -shape[d] else end
        ranges[d] = range(shape[d])[slice(start, stop, step)]
    return ranges


def _infer_slice(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    return (TensorType(tuple(len(r) for r in slice_ranges(x.shape, given)), x.dtype),)


def _te_slice(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    x = inputs[0]
    assert x is not None
    ranges = slice_ranges(x.static_shape, given)

    def body(*at: Int) -> Expr:
        return x[tuple(i * r.step + r.start for i, r in zip(at, ranges, strict=True))]

    return compute("slice", axes_of([len(r) for r in ranges]), body)


def _slice_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    x = inputs[0]
    assert x is not None
    return (x[np.ix_(*(list(r) for r in slice_ranges(x.shape, given)))],)


def _slice_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = _draw(random, 5, 7, 3)
    return (
        Sample("two axes", (x,), {"starts": [1, 2], "ends": [4, 1000], "axes": [0, 1]}),
        Sample("negative", (x,), {"starts": [-3], "ends": [-1], "axes": [-2]}),
        Sample("strided", (x,), {"starts": [0, 1], "ends": [5, 7], "steps": [2, 3]}),
        Sample("backwards", (x,), {"starts": [-1], "ends": [-100], "axes": [1], "steps": [-1]}),
        Sample("empty", (x,), {"starts": [3], "ends": [2]}),
    )


SLICE_ATTRIBUTES = (
    Attribute("starts", "ints", REQUIRED),
    Attribute("ends", "ints", REQUIRED),
    Attribute("axes", "ints"),
    Attribute("steps", "ints"),
)


def _infer_concat(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    types = [t for t in inputs if t is not None]
    axis = normalized_axis(given["axis"], types[0].rank)
    for other in types[1:]:
        left = types[0].shape[:axis] + types[0].shape[axis + 1 :]
        if other.rank != types[0].rank or other.shape[:axis] + other.shape[axis + 1 :] != left:
            raise InvalidInput(f"inputs {types[0]} and {other} differ in more than axis {axis}")
    total = sum(t.shape[axis] for t in types)
    shape = (*types[0].shape[:axis], total, *types[0].shape[axis + 1 :])
    return (TensorType(shape, same_dtype(inputs)),)


def _te_concat(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    """Nested selects on the joined axis."""
    parts: list[Tensor] = present(inputs)
    axis = normalized_axis(given["axis"], len(parts[0].shape))
    ends = np.cumsum([p.static_shape[axis] for p in parts]).tolist()
    shape = list(parts[0].static_shape)
    shape[axis] = ends[-1]
    used = [
        (p, end)
        for p, end in zip(parts, ends, strict=True)
        if p.static_shape[axis] or p is parts[-1]
    ]

    def body(*at: Int) -> Expr:
        def read(part: Tensor, end: int) -> Expr:
            start = end - part.static_shape[axis]
            return part[(*at[:axis], at[axis] - start, *at[axis + 1 :])]

        value = read(*used[-1])
        for part, end in reversed(used[:-1]):
            value = Select(condition(less(at[axis], end)), read(part, end), value)
        return value

    return compute("concat", axes_of(shape), body)


def _concat_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    return (np.concatenate(present(inputs), axis=given["axis"]),)


def _concat_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    parts = tuple(_draw(random, 2, n, 3) for n in (4, 1, 5))
    return (
        Sample("middle axis", parts, {"axis": 1}),
        Sample("last axis", (_draw(random, 3, 2), _draw(random, 3, 7)), {"axis": -1}),
        Sample("one input", parts[:1], {"axis": 0}),
        Sample("empty part", (parts[0], parts[0][:, :0], parts[1]), {"axis": 1}),
    )


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
    x = _draw(random, 3, 4, 5)
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
        Sample("rows", (_draw(random, 1, 5),), {"shape": [3, 5]}),
        Sample("one", (_draw(random, 3, 1),), {"shape": [2, 1, 4]}),
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
        Sample("both axes", (_draw(random, 2, 3),), {"repeats": [3, 2]}),
        Sample("none", (_draw(random, 2, 3),), {"repeats": [0, 2]}),
    )


def _split_sizes(extent: int, given: Attributes) -> tuple[int, ...]:
    sizes = given["split"]
    if sizes is None:
        n = given["num_outputs"] or 0
        if n < 1:
            raise InvalidInput("split needs sizes, or num_outputs of at least 1")
        chunk = -(-extent // n)
        sizes = tuple(max(min(chunk, extent - chunk * i), 0) for i in range(n))
    if sum(sizes) != extent or min(sizes, default=-1) < 0:
        raise InvalidInput(f"split {tuple(sizes)} does not add up to {extent}")
    return tuple(sizes)


def _infer_split(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    x = inputs[0]
    assert x is not None
    axis = normalized_axis(given["axis"], x.rank)
    sizes = _split_sizes(x.shape[axis], given)
    return tuple(TensorType((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype) for n in sizes)


def _te_split(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    x = inputs[0]
    assert x is not None
    axis = normalized_axis(given["axis"], len(x.shape))
    outputs: list[Tensor] = []
    start = 0
    for size in _split_sizes(x.static_shape[axis], given):
        shape = (*x.static_shape[:axis], size, *x.static_shape[axis + 1 :])
        outputs += compute("split", axes_of(shape), _shifted_read(x, axis, start))
        start += size
    return tuple(outputs)


def _shifted_read(x: Tensor, axis: int, start: int) -> Callable[..., Expr]:
    return lambda *at: x[(*at[:axis], at[axis] + start, *at[axis + 1 :])]


def _split_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    x = inputs[0]
    assert x is not None
    sizes = _split_sizes(x.shape[given["axis"]], given)
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis=given["axis"]))


def _split_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = _draw(random, 2, 7, 3)
    return (
        Sample("sizes", (x,), {"axis": 1, "split": [2, 4, 1]}),
        Sample("equal parts", (x,), {"axis": -2, "num_outputs": 3}),
    )


def blocks_to_space(x: Tensor, block: int, depth_first: bool) -> Tensor:
    """(N, C, H, W) -> (N, C / b^2, H b, W b)."""
    n, c, h, w = x.static_shape
    inner = c // (block * block)

    def body(i: Int, f: Int, y: Int, v: Int) -> Expr:
        cell = (y % block) * block + v % block
        channel = f * (block * block) + cell if depth_first else cell * inner + f
        return x[i, channel, y // block, v // block]

    shape = {"n": n, "c": inner, "h": h * block, "w": w * block}
    (y,) = compute("depth_to_space", dict(shape), body)
    return y


def _infer_depth_to_space(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
    x, block = inputs[0], given["blocksize"]
    assert x is not None
    if x.rank != 4 or block < 1 or x.shape[1] % (block * block):
        raise InvalidInput(f"input {x} does not split into blocks of {block}")
    n, c, h, w = x.shape
    return (TensorType((n, c // block**2, h * block, w * block), x.dtype),)


def _te_depth_to_space(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
    assert inputs[0] is not None
    return (blocks_to_space(inputs[0], given["blocksize"], given["mode"] == "CRD"),)


def _depth_to_space_reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
    x, b = inputs[0], given["blocksize"]
    assert x is not None
    n, c, h, w = x.shape
    if given["mode"] == "DCR":
        y = x.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        y = x.reshape(n, c // b**2, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return (y.reshape(n, c // b**2, h * b, w * b),)


def _depth_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = _draw(random, 2, 12, 3, 5)
    return tuple(Sample(m, (x,), {"blocksize": 2, "mode": m}) for m in ("DCR", "CRD"))


AXES = Attribute("axes", "ints")

MOVEMENT_OPERATORS: tuple[Operator, ...] = (
    _view(
        "Reshape",
        _reshaped,
        _reshape_samples,
        (Attribute("shape", "ints", REQUIRED), Attribute("allowzero", "int", 0, (0, 1))),
        static={1: "shape"},
        n_inputs=(1, 2),
    ),
    _view("Flatten", _flattened, _flatten_samples, (Attribute("axis", "int", 1),)),
    _view("Squeeze", _squeezed, _squeeze_samples, (AXES,), static={1: "axes"}, n_inputs=(1, 2)),
    _view(
        "Unsqueeze",
        _unsqueezed,
        _unsqueeze_samples,
        (Attribute("axes", "ints", REQUIRED),),
        static={1: "axes"},
        n_inputs=(1, 2),
    ),
    _view("Identity", lambda shape, _: shape, _same_samples),
    _view(
        "Dropout",
        lambda shape, _: shape,
        _same_samples,
        (
            Attribute("seed", "int"),
            Attribute("ratio", "float", 0.5),
            Attribute("training_mode", "int", 0, (0,)),
        ),
        static={1: "ratio", 2: "training_mode"},
        n_inputs=(1, 3),
    ),
    Operator(
        "Transpose",
        _infer_transpose,
        _te_transpose,
        _transpose_reference,
        _transpose_samples,
        (Attribute("perm", "ints"),),
    ),
    Operator(
        "Slice",
        _infer_slice,
        _te_slice,
        _slice_reference,
        _slice_samples,
        SLICE_ATTRIBUTES,
        (1, 5),
        {1: "starts", 2: "ends", 3: "axes", 4: "steps"},
    ),
    Operator(
        "Concat",
        _infer_concat,
        _te_concat,
        _concat_reference,
        _concat_samples,
        (Attribute("axis", "int", REQUIRED),),
        (1, UNLIMITED),
    ),
    Operator(
        "Pad",
        _infer_pad,
        _te_pad,
        _pad_reference,
        _pad_samples,
        (
            Attribute("pads", "ints", REQUIRED),
            Attribute("constant_value", "number", 0.0),
            AXES,
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
    Operator(
        "Split",
        _infer_split,
        _te_split,
        _split_reference,
        _split_samples,
        (Attribute("axis", "int", 0), Attribute("split", "ints"), Attribute("num_outputs", "int")),
        (1, 2),
        {1: "split"},
    ),
    Operator(
        "DepthToSpace",
        _infer_depth_to_space,
        _te_depth_to_space,
        _depth_to_space_reference,
        _depth_samples,
        (
            Attribute("blocksize", "int", REQUIRED),
            Attribute("mode", "string", "DCR", ("DCR", "CRD")),
        ),
    ),
)
