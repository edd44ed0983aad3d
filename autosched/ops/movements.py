"""Operators that move elements: permutations, slices, joins, blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autosched.errors import InvalidInput
from autosched.ops.binary_operators import present, same_dtype
from autosched.ops.broadcasting import axes_of
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
from autosched.ops.samples import normal
from autosched.te.expr import Expr, Select, condition
from autosched.te.integer import Int, less
from autosched.te.workload import Tensor, compute

Shape = tuple[int, ...]
ShapeRule = Callable[[Shape, Attributes], Shape]


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
    x = normal(random, 2, 3, 4, 5)
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
    x = normal(random, 5, 7, 3)
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
    parts = tuple(normal(random, 2, n, 3) for n in (4, 1, 5))
    return (
        Sample("middle axis", parts, {"axis": 1}),
        Sample("last axis", (normal(random, 3, 2), normal(random, 3, 7)), {"axis": -1}),
        Sample("one input", parts[:1], {"axis": 0}),
        Sample("empty part", (parts[0], parts[0][:, :0], parts[1]), {"axis": 1}),
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
    x = normal(random, 2, 7, 3)
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
    x = normal(random, 2, 12, 3, 5)
    return tuple(Sample(m, (x,), {"blocksize": 2, "mode": m}) for m in ("DCR", "CRD"))


MOVEMENT_OPERATORS: tuple[Operator, ...] = (
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
