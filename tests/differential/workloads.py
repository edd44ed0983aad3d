"""The cases of the differential test: awkward sizes of every kind of computation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from autosched.ops.suite_kinds import KINDS
from autosched.te.expr import Expr, Index, Select, binary, call, cast, maximum_of
from autosched.te.integer import Int
from autosched.te.workload import Tensor, Workload, compute, placeholder, reduce_over
from autosched.testing.differential import Case, random_inputs

SUITE: dict[str, tuple[Mapping[str, int], ...]] = {
    "C1D": (
        {"length": 11, "in_channels": 5, "out_channels": 7, "kernel": 3, "stride": 2, "padding": 1},
        {"length": 9, "in_channels": 1, "out_channels": 3, "kernel": 1, "stride": 1, "padding": 0},
    ),
    "C2D": (
        {"height": 7, "width": 6, "in_channels": 3, "out_channels": 9, "kernel": 3, "stride": 1, "padding": 1},
        {"height": 7, "width": 5, "in_channels": 2, "out_channels": 5, "kernel": 3, "stride": 2, "padding": 0},
        {"height": 5, "width": 1, "in_channels": 7, "out_channels": 11, "kernel": 1, "stride": 1, "padding": 0},
    ),
    "C3D": (
        {"depth": 4, "height": 5, "width": 3, "in_channels": 2, "out_channels": 5, "kernel": 3, "stride": 2, "padding": 1},
    ),
    "GMM": ({"n": 13, "m": 11, "k": 17}, {"n": 1, "m": 19, "k": 23}, {"n": 16, "m": 24, "k": 8}),
    "GRP": (
        {"height": 5, "width": 4, "in_channels": 6, "out_channels": 10, "kernel": 3, "stride": 1, "padding": 1, "groups": 2},
    ),
    "DIL": (
        {"height": 7, "width": 6, "in_channels": 3, "out_channels": 5, "kernel": 3, "stride": 1, "padding": 2, "dilation": 2},
    ),
    "DEP": (
        {"height": 7, "width": 6, "channels": 9, "kernel": 3, "stride": 2, "padding": 1},
        {"height": 6, "width": 1, "channels": 5, "kernel": 1, "stride": 1, "padding": 0},
    ),
    "T2D": (
        {"height": 4, "width": 5, "in_channels": 3, "out_channels": 3, "kernel": 4, "stride": 2, "padding": 1},
    ),
    "CAP": (
        {"height": 4, "width": 3, "in_channels": 2, "out_channels": 3, "kernel": 3, "stride": 2, "padding": 1, "capsule": 2},
    ),
    "NRM": ({"m": 7, "n": 13}, {"m": 1, "n": 37}, {"m": 19, "n": 29}),
    "SFM": ({"m": 7, "n": 19}, {"m": 5, "n": 1}),
    "CBR": (
        {"height": 5, "width": 6, "in_channels": 3, "out_channels": 9, "kernel": 3, "stride": 1, "padding": 1},
    ),
    "TBS": ({"seq": 7, "heads": 3, "dim": 5}, {"seq": 5, "heads": 1, "dim": 3}),
}  # fmt: skip


@lru_cache(maxsize=1)
def cases() -> tuple[Case, ...]:
    suite = tuple(
        _suite_case(kind, number, args)
        for kind, sizes in SUITE.items()
        for number, args in enumerate(sizes)
    )
    written = tuple(_case(kind, make()) for kind, makers in WORKLOADS.items() for make in makers)
    return suite + written


def _case(kind: str, workload: Workload, name: str = "") -> Case:
    return Case(kind, name or workload.name, workload, random_inputs(workload))


def _suite_case(kind: str, number: int, args: Mapping[str, int]) -> Case:
    batch = 1 + number % 2
    inputs = KINDS[kind].inputs(batch, args)
    workload = Workload(kind, inputs, (KINDS[kind].te(inputs, args),))
    return _case(kind, workload, f"{kind}/{number}@{batch}")


def _matmul(a: Tensor, b: Tensor, name: str = "c") -> Tensor:
    (m, k), n = a.shape, b.shape[1]

    def cell(i: Int, j: Int):  # type: ignore[no-untyped-def]
        return reduce_over("sum", {"k": k}, lambda k: a[i, k] * b[k, j])

    return compute(name, {"i": m, "j": n}, cell)[0]


def dense_bias_relu() -> Workload:
    a, b = placeholder("a", (7, 13)), placeholder("b", (13, 21), constant=True)
    bias = placeholder("bias", (21,), constant=True)
    c = _matmul(a, b)
    (y,) = compute("y", {"i": 7, "j": 21}, lambda i, j: maximum_of(c[i, j] + bias[j], 0.0))
    return Workload("dense_bias_relu", (a, b, bias), (y,))


def dense_residual_sigmoid() -> Workload:
    a, b, r = placeholder("a", (9, 12)), placeholder("b", (12, 8)), placeholder("r", (9, 8))
    c = _matmul(a, b)
    (y,) = compute("y", {"i": 9, "j": 8}, lambda i, j: call("sigmoid", c[i, j]) + r[i, j])
    return Workload("dense_residual_sigmoid", (a, b, r), (y,))


def two_layers() -> Workload:
    """A product of a product: the first cannot be inlined."""
    a, b, d = placeholder("a", (6, 11)), placeholder("b", (11, 7)), placeholder("d", (7, 9))
    return Workload("two_layers", (a, b, d), (_matmul(_matmul(a, b), d, "e"),))


def transposed_operand() -> Workload:
    a, b = placeholder("a", (10, 7)), placeholder("b", (9, 10))

    def cell(i: Int, j: Int):  # type: ignore[no-untyped-def]
        return reduce_over("sum", {"k": 10}, lambda k: a[k, i] * b[j, k])

    (c,) = compute("c", {"i": 7, "j": 9}, cell)
    return Workload("transposed_operand", (a, b), (c,))


def int8_matmul() -> Workload:
    a, b = placeholder("a", (5, 19), "int8"), placeholder("b", (19, 7), "int8")

    def cell(i: Int, j: Int):  # type: ignore[no-untyped-def]
        def term(k: Int) -> Expr:
            return cast("int32", a[i, k]) * cast("int32", b[k, j])

        return reduce_over("sum", {"k": 19}, term)

    return Workload("int8_matmul", (a, b), compute("c", {"i": 5, "j": 7}, cell))


def half_matmul() -> Workload:
    a, b = placeholder("a", (5, 19), "bfloat16"), placeholder("b", (19, 7), "bfloat16")

    def cell(i: Int, j: Int):  # type: ignore[no-untyped-def]
        def term(k: Int) -> Expr:
            return cast("float32", a[i, k]) * cast("float32", b[k, j])

        return reduce_over("sum", {"k": 19}, term)

    c = compute("c", {"i": 5, "j": 7}, cell, dtypes=("bfloat16",))
    return Workload("half_matmul", (a, b), c)


def elementwise_chain() -> Workload:
    x, s = placeholder("x", (3, 5, 14)), placeholder("s", (14,))
    axes = {"i": 3, "j": 5, "k": 14}
    (y,) = compute("y", dict(axes), lambda i, j, k: x[i, j, k] * s[k] + 1.0)
    (z,) = compute(
        "z", dict(axes), lambda i, j, k: call("tanh", y[i, j, k]) * call("erf", y[i, j, k])
    )
    return Workload("elementwise_chain", (x, s), (z,))


def transpose() -> Workload:
    x = placeholder("x", (5, 3, 11))
    return Workload(
        "transpose", (x,), compute("y", {"i": 11, "j": 5, "k": 3}, lambda i, j, k: x[j, k, i])
    )


def layer_norm() -> Workload:
    rows, n = 5, 21
    x, gain, shift = (
        placeholder("x", (rows, n)),
        placeholder("gain", (n,)),
        placeholder("shift", (n,)),
    )
    (total,) = compute(
        "total", {"i": rows}, lambda i: reduce_over("sum", {"j": n}, lambda j: x[i, j])
    )
    (mean,) = compute("mean", {"i": rows}, lambda i: total[i] * (1 / n))

    def square(i: Int, j: Int) -> Expr:
        return (x[i, j] - mean[i]) * (x[i, j] - mean[i])

    (spread,) = compute(
        "spread", {"i": rows}, lambda i: reduce_over("sum", {"j": n}, lambda j: square(i, j))
    )
    (y,) = compute(
        "y",
        {"i": rows, "j": n},
        lambda i, j: (
            (x[i, j] - mean[i]) * call("rsqrt", spread[i] * (1 / n) + 1e-5) * gain[j] + shift[j]
        ),
    )
    return Workload("layer_norm", (x, gain, shift), (y,))


def softmax_columns() -> Workload:
    """Softmax over the first axis."""
    m, n = 13, 6
    x = placeholder("x", (m, n))
    (top,) = compute("top", {"j": n}, lambda j: reduce_over("max", {"i": m}, lambda i: x[i, j]))
    (e,) = compute("e", {"i": m, "j": n}, lambda i, j: call("exp", x[i, j] - top[j]))
    (s,) = compute("s", {"j": n}, lambda j: reduce_over("sum", {"i": m}, lambda i: e[i, j]))
    (y,) = compute("y", {"i": m, "j": n}, lambda i, j: e[i, j] / s[j])
    return Workload("softmax_columns", (x,), (y,))


def argmax() -> Workload:
    x = placeholder("x", (6, 23))
    found = compute(
        "best", {"i": 6}, lambda i: reduce_over("argmax", {"j": 23}, lambda j: (x[i, j], Index(j)))
    )
    return Workload("argmax", (x,), found)


def argmin_index_only() -> Workload:
    x = placeholder("x", (17, 5))
    found = compute(
        "best", {"j": 5}, lambda j: reduce_over("argmin", {"i": 17}, lambda i: (x[i, j], Index(i)))
    )
    return Workload("argmin_index_only", (x,), found[1:])


def maxsum_rows() -> Workload:
    x = placeholder("x", (4, 29))

    def cell(i: Int):  # type: ignore[no-untyped-def]
        return reduce_over("maxsum", {"j": 29}, lambda j: (x[i, j], as_one(x[i, j])))

    return Workload("maxsum_rows", (x,), compute("pair", {"i": 4}, cell))


def maxsum_columns() -> Workload:
    x = placeholder("x", (7, 11, 6))

    def cell(i: Int, j: Int):  # type: ignore[no-untyped-def]
        return reduce_over("maxsum", {"k": 11}, lambda k: (x[i, k, j], as_one(x[i, k, j])))

    return Workload("maxsum_columns", (x,), compute("pair", {"i": 7, "j": 6}, cell))


def as_one(like: Expr) -> Expr:
    return binary("add", like * 0.0, 1.0)


def two_outputs() -> Workload:
    """Mean and mean square."""
    x = placeholder("x", (5, 18))
    (s,) = compute("s", {"i": 5}, lambda i: reduce_over("sum", {"j": 18}, lambda j: x[i, j]))
    (q,) = compute(
        "q", {"i": 5}, lambda i: reduce_over("sum", {"j": 18}, lambda j: x[i, j] * x[i, j])
    )
    (mean,) = compute("mean", {"i": 5}, lambda i: s[i] * (1 / 18))
    (square,) = compute("square", {"i": 5}, lambda i: q[i] * (1 / 18))
    return Workload("two_outputs", (x,), (mean, square))


def value_and_relu() -> Workload:
    """A reduction that is an output and is read by another."""
    a, b = placeholder("a", (5, 9)), placeholder("b", (9, 10))
    c = _matmul(a, b)
    (y,) = compute("y", {"i": 5, "j": 10}, lambda i, j: maximum_of(c[i, j], 0.0))
    return Workload("value_and_relu", (a, b), (c, y))


def total_sum() -> Workload:
    """No spatial axis but one of extent 1."""
    x = placeholder("x", (1, 211))
    return Workload(
        "total_sum",
        (x,),
        compute("y", {"i": 1}, lambda i: reduce_over("sum", {"j": 211}, lambda j: x[i, j])),
    )


def long_total() -> Workload:
    """A sum long enough to be worth a second pass."""
    x = placeholder("x", (1, 1031))

    def cell(i: Int):  # type: ignore[no-untyped-def]
        return reduce_over("sum", {"j": 1031}, lambda j: x[i, j])

    return Workload("long_total", (x,), compute("y", {"i": 1}, cell))


def long_dot() -> Workload:
    """Few products over a long axis."""
    a, b = placeholder("a", (2, 601)), placeholder("b", (601, 3))
    return Workload("long_dot", (a, b), (_matmul(a, b),))


def long_argmax() -> Workload:
    x = placeholder("x", (3, 523))

    def cell(i: Int):  # type: ignore[no-untyped-def]
        return reduce_over("argmax", {"j": 523}, lambda j: (x[i, j], Index(j)))

    return Workload("long_argmax", (x,), compute("best", {"i": 3}, cell))


def max_pool() -> Workload:
    """3x3 windows, stride 2, padding 1 by a select on the index."""
    x = placeholder("x", (2, 3, 7, 9))

    def cell(n: Int, c: Int, h: Int, w: Int):  # type: ignore[no-untyped-def]
        def tap(r: Int, s: Int) -> Expr:
            u, v = h * 2 + r - 1, w * 2 + s - 1
            return guarded_max(x, (n, c, u, v))

        return reduce_over("max", {"r": 3, "s": 3}, tap)

    return Workload("max_pool", (x,), compute("y", {"n": 2, "c": 3, "h": 4, "w": 5}, cell))


def guarded_max(x: Tensor, at: tuple[Int, ...]) -> Expr:
    from autosched.te.combiner import lowest
    from autosched.te.expr import condition
    from autosched.te.integer import all_of, less, less_equal

    tests = [
        t for i, e in zip(at[2:], x.shape[2:], strict=True) for t in (less_equal(0, i), less(i, e))
    ]
    return Select(condition(all_of(tests)), x[at], lowest(x.dtype))


WORKLOADS: dict[str, tuple[Callable[[], Workload], ...]] = {
    "dense and epilogue": (dense_bias_relu, dense_residual_sigmoid, value_and_relu),
    "products": (two_layers, transposed_operand, long_dot),
    "int8": (int8_matmul,),
    "bfloat16": (half_matmul,),
    "elementwise": (elementwise_chain, transpose),
    "normalization": (layer_norm, softmax_columns),
    "argmax": (argmax, argmin_index_only, long_argmax),
    "maxsum": (maxsum_rows, maxsum_columns),
    "two outputs": (two_outputs,),
    "long sum": (long_total, total_sum),
    "pooling": (max_pool,),
}
