"""Matrix products: MatMul (NumPy's rules for batches), Gemm, and the int8 product into int32."""

from __future__ import annotations

from collections.abc import Sequence

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
)
from autosched.ops.samples import normal
from autosched.ops.views import viewed
from autosched.te.expr import Expr, cast
from autosched.te.integer import Int, as_int
from autosched.te.workload import Reduction, Tensor, compute, reduce_over

Shape = tuple[int, ...]


def _two_dimensional(a: Shape, b: Shape) -> tuple[Shape, Shape]:
    """A vector is a row on the left and a column on the right."""
    return ((1, *a) if len(a) == 1 else a), ((*b, 1) if len(b) == 1 else b)


def product_shape(a: Shape, b: Shape) -> Shape:
    """The shape of the matrix product; InvalidInput where the shapes do not fit."""
    if not a or not b:
        raise InvalidInput(f"shapes {a} and {b}: a matrix product needs at least one dimension")
    left, right = _two_dimensional(a, b)
    if left[-1] != right[-2]:
        raise InvalidInput(f"shapes {a} and {b}: {left[-1]} columns meet {right[-2]} rows")
    rows = left[-2:-1] if len(a) > 1 else ()
    columns = right[-1:] if len(b) > 1 else ()
    return (*broadcast(left[:-2], right[:-2]), *rows, *columns)


def matrix_product(a: Tensor, b: Tensor, read_a: str = "", read_b: str = "") -> Tensor:
    """Batched product; `read_a` and `read_b` name a dtype that elements are cast to before multiplying."""
    left, right = _two_dimensional(a.static_shape, b.static_shape)
    a2, b2 = viewed(a, left, "row"), viewed(b, right, "column")
    batch = broadcast(left[:-2], right[:-2])
    depth = left[-1]
    axes = {f"b{d}": n for d, n in enumerate(batch)} | {"i": left[-2], "j": right[-1]}

    def body(*at: Int) -> Reduction:
        outer, (i, j) = at[:-2], at[-2:]

        def term(k: Int) -> Expr:
            x = a2[(*_batch_index(left, outer), i, k)]
            y = b2[(*_batch_index(right, outer), k, j)]
            return cast(read_a or x.dtype, x) * cast(read_b or y.dtype, y)

        return reduce_over("sum", {"k": depth}, term)

    (y,) = compute("matmul", dict(axes), body)
    return viewed(y, product_shape(a.static_shape, b.static_shape))


def _batch_index(shape: Shape, outer: Sequence[Int]) -> tuple[Int, ...]:
    """Batch indices of an operand, aligned at the end; 0 where it broadcasts."""
    own = shape[:-2]
    aligned = outer[len(outer) - len(own) :]
    return tuple(as_int(0) if n == 1 else i for n, i in zip(own, aligned, strict=True))


def _infer_matmul(inputs: Types, _: Attributes) -> tuple[TensorType, ...]:
    a, b = inputs
    assert a is not None
    assert b is not None
    return (TensorType(product_shape(a.shape, b.shape), same_dtype(inputs)),)


def _te_matmul(inputs: Tensors, _: Attributes) -> tuple[Tensor, ...]:
    a, b = inputs
    assert a is not None
    assert b is not None
    return (matrix_product(a, b),)


def _matmul_reference(inputs: Arrays, _: Attributes) -> tuple[Array, ...]:
    a, b = inputs
    assert a is not None
    assert b is not None
    return (np.asarray(np.matmul(a, b)),)


def _depth(inputs: Types, _: Attributes) -> int:
    assert inputs[0] is not None
    return inputs[0].shape[-1]


MATMUL_SHAPES: tuple[tuple[Shape, Shape], ...] = (
    ((3, 5), (5, 7)),
    ((1, 1), (1, 1)),
    ((13,), (13,)),
    ((13,), (13, 3)),
    ((2, 3, 13), (13,)),
    ((4, 3, 5), (5, 2)),
    ((3, 5), (4, 5, 2)),
    ((2, 1, 3, 5), (3, 5, 4)),
    ((2, 0), (0, 3)),
    ((0, 2), (2, 3)),
    ((17, 31), (31, 19)),
)


def _matmul_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    special = normal(random, 3, 4)
    special[1, 2], special[2, 0] = np.nan, np.inf
    return (
        *(Sample(f"{a} x {b}", (normal(random, *a), normal(random, *b))) for a, b in MATMUL_SHAPES),
        Sample("special values", (special, normal(random, 4, 2))),
        Sample("int32", tuple(random.integers(-9, 9, (5, 5)).astype(np.int32) for _ in "ab")),
    )


def _infer_integer(inputs: Types, _: Attributes) -> tuple[TensorType, ...]:
    a, b = inputs[:2]
    assert a is not None
    assert b is not None
    for operand, zero in ((a, given(inputs, 2)), (b, given(inputs, 3))):
        if operand.dtype not in ("int8", "uint8"):
            raise InvalidInput(f"input {operand} has to be int8 or uint8")
        if zero is not None and (zero.dtype != operand.dtype or zero.shape not in ((), (1,))):
            raise InvalidInput(f"zero point {zero} has to be one {operand.dtype}")
    return (TensorType(product_shape(a.shape, b.shape), "int32"),)


def _shifted(x: Tensor, zero: Tensor | None) -> Tensor:
    """x - zero in int32."""
    if zero is None:
        return x

    def body(*at: Int) -> Expr:
        return cast("int32", x[at]) - cast("int32", read_broadcast(zero, at))

    (y,) = compute("shifted", axes_of(x.static_shape), body)
    return y


def _te_integer(inputs: Tensors, _: Attributes) -> tuple[Tensor, ...]:
    a, b = inputs[:2]
    assert a is not None
    assert b is not None
    left, right = _shifted(a, given(inputs, 2)), _shifted(b, given(inputs, 3))
    return (matrix_product(left, right, "int32", "int32"),)


def _integer_reference(inputs: Arrays, _: Attributes) -> tuple[Array, ...]:
    def whole(position: int) -> Array:
        value = given(inputs, position)
        return np.zeros((), np.int32) if value is None else np.asarray(value, np.int32)

    return (np.asarray(np.matmul(whole(0) - whole(2), whole(1) - whole(3)), np.int32),)


def _integer_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    a = random.integers(-128, 128, (5, 33)).astype(np.int8)
    b = random.integers(-128, 128, (33, 3)).astype(np.int8)
    u = random.integers(0, 256, (2, 5, 33)).astype(np.uint8)
    return (
        Sample("int8", (a, b)),
        Sample("zero points", (u, b, np.array(128, np.uint8), np.array([3], np.int8))),
        Sample("extremes", (np.full((2, 300), -128, np.int8), np.full((300, 2), -128, np.int8))),
    )


GEMM_ATTRIBUTES = (
    Attribute("alpha", "float", 1.0),
    Attribute("beta", "float", 1.0),
    Attribute("transA", "int", 0, (0, 1)),
    Attribute("transB", "int", 0, (0, 1)),
)


def _gemm_shape(inputs: Types, attributes: Attributes) -> tuple[int, int, int]:
    a, b = inputs[:2]
    assert a is not None
    assert b is not None
    if a.rank != 2 or b.rank != 2:
        raise InvalidInput(f"inputs {a} and {b} have to be matrices")
    rows, depth = a.shape[::-1] if attributes["transA"] else a.shape
    height, columns = b.shape[::-1] if attributes["transB"] else b.shape
    if depth != height:
        raise InvalidInput(f"inputs {a} and {b}: {depth} columns meet {height} rows")
    return rows, columns, depth


def _infer_gemm(inputs: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    rows, columns, _ = _gemm_shape(inputs, attributes)
    c = given(inputs, 2)
    if c is not None and broadcast(c.shape, (rows, columns)) != (rows, columns):
        raise InvalidInput(f"input {c} does not broadcast to {(rows, columns)}")
    dtype = same_dtype(inputs)
    return (float_type(TensorType((rows, columns), dtype)),)


def _te_gemm(inputs: Tensors, attributes: Attributes) -> tuple[Tensor, ...]:
    a, b = inputs[:2]
    c: Tensor | None = given(inputs, 2)
    assert a is not None
    assert b is not None
    depth = a.static_shape[0 if attributes["transA"] else 1]
    rows = a.static_shape[1 if attributes["transA"] else 0]
    columns = b.static_shape[0 if attributes["transB"] else 1]

    def body(i: Int, j: Int) -> Reduction:
        def term(k: Int) -> Expr:
            left = a[k, i] if attributes["transA"] else a[i, k]
            return left * (b[j, k] if attributes["transB"] else b[k, j])

        return reduce_over("sum", {"k": depth}, term)

    (y,) = compute("gemm", {"i": rows, "j": columns}, body)
    alpha, beta = attributes["alpha"], attributes["beta"]
    if alpha == 1 and c is None:
        return (y,)

    def epilogue(i: Int, j: Int) -> Expr:
        scaled = y[i, j] if alpha == 1 else y[i, j] * alpha
        if c is None:
            return scaled
        added = read_broadcast(c, (i, j))
        return scaled + (added if beta == 1 else added * beta)

    return compute("scaled", {"i": rows, "j": columns}, epilogue)


def _gemm_reference(inputs: Arrays, attributes: Attributes) -> tuple[Array, ...]:
    a, b, c = inputs[0], inputs[1], given(inputs, 2)
    assert a is not None
    assert b is not None
    left = a.T if attributes["transA"] else a
    right = b.T if attributes["transB"] else b
    y = left @ right if attributes["alpha"] == 1 else attributes["alpha"] * (left @ right)
    return (np.asarray(y if c is None else y + attributes["beta"] * c, a.dtype),)


def _gemm_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    def draw(*shape: int) -> Array:
        return normal(random, *shape)

    return (
        Sample("plain", (draw(3, 5), draw(5, 7))),
        Sample(
            "both transposed, bias", (draw(5, 3), draw(7, 5), draw(7)), {"transA": 1, "transB": 1}
        ),
        Sample("scaled", (draw(3, 5), draw(5, 7), draw(3, 1)), {"alpha": 0.5, "beta": -2.0}),
        Sample("scaled, no bias", (draw(2, 3), draw(3, 2)), {"alpha": 0.25}),
        Sample("no depth", (draw(2, 0), draw(0, 3), draw(1, 3))),
        Sample("one element", (draw(1, 1), draw(1, 1), draw(1))),
    )


def _gemm_depth(inputs: Types, attributes: Attributes) -> int:
    return _gemm_shape(inputs, attributes)[2]


MATRIX_OPERATORS: tuple[Operator, ...] = (
    Operator(
        "MatMul",
        _infer_matmul,
        _te_matmul,
        _matmul_reference,
        _matmul_samples,
        n_inputs=(2, 2),
        reduction_length=_depth,
    ),
    Operator(
        "MatMulInteger",
        _infer_integer,
        _te_integer,
        _integer_reference,
        _integer_samples,
        n_inputs=(2, 4),
        reduction_length=_depth,
    ),
    Operator(
        "Gemm",
        _infer_gemm,
        _te_gemm,
        _gemm_reference,
        _gemm_samples,
        GEMM_ATTRIBUTES,
        (2, 3),
        reduction_length=_gemm_depth,
    ),
)
