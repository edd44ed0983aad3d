"""Workloads written by hand for the sketch tests, one for each kind of structure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from autosched.te.dtype import is_float, numpy_dtype
from autosched.te.expr import Const, Expr, Index, Select, call, cast, condition, maximum_of
from autosched.te.integer import Int, all_of, less, less_equal
from autosched.te.workload import Tensor, Workload, compute, placeholder, reduce_over

F = "float32"


def inputs(workload: Workload, rng: np.random.Generator) -> list[npt.NDArray[np.generic]]:
    """Normal values for float inputs, small integers for the others."""
    return [
        rng.standard_normal(t.elements).astype(numpy_dtype(t.dtype))
        if is_float(t.dtype)
        else rng.integers(-9, 9, t.elements).astype(numpy_dtype(t.dtype))
        for t in workload.inputs
    ]


def matmul(m: int, n: int, k: int) -> Workload:
    a, b = placeholder("a", (m, k)), placeholder("b", (k, n))
    return Workload("matmul", (a, b), (_product(a, b, "c", (m, n, k)),))


def _product(a: Tensor, b: Tensor, name: str, sizes: tuple[int, int, int]) -> Tensor:
    m, n, k = sizes
    (c,) = compute(
        name,
        {"i": m, "j": n},
        lambda i, j: reduce_over("sum", {"k": k}, lambda k: a[i, k] * b[k, j]),
    )
    return c


def chained_matmuls(m: int, n: int, k: int, last: int) -> Workload:
    a, b, d = placeholder("a", (m, k)), placeholder("b", (k, n)), placeholder("d", (n, last))
    c = _product(a, b, "c", (m, n, k))
    return Workload("chained", (a, b, d), (_product(c, d, "e", (m, last, n)),))


def integer_matmul(m: int, n: int, k: int) -> Workload:
    """int8 x int8 -> int32."""
    a, b = placeholder("a", (m, k), "int8"), placeholder("b", (k, n), "int8")
    c = compute(
        "c",
        {"i": m, "j": n},
        lambda i, j: reduce_over(
            "sum", {"k": k}, lambda k: cast("int32", a[i, k]) * cast("int32", b[k, j])
        ),
    )
    return Workload("integer_matmul", (a, b), c)


def _padded(x: Tensor, at: Sequence[Int], sizes: Sequence[tuple[Int, int]], fill: float) -> Expr:
    inside = all_of([c for i, n in sizes for c in (less_equal(0, i), less(i, n))])
    return Select(condition(inside), x[tuple(at)], Const(fill, F))


def convolution(size: int, c: int, o: int, window: tuple[int, int, int]) -> Workload:
    """NHWC convolution with bias and relu; `window` is (kernel, stride, padding)."""
    kernel, stride, padding = window
    out = (size + 2 * padding - kernel) // stride + 1
    x = placeholder("x", (size, size, c))
    w = placeholder("w", (kernel, kernel, c, o), constant=True)
    bias = placeholder("bias", (o,), constant=True)

    def tap(h: Int, v: Int, o: Int, a: Int, b: Int, c: Int) -> Expr:
        y, z = h * stride + a - padding, v * stride + b - padding
        return _padded(x, (y, z, c), ((y, size), (z, size)), 0.0) * w[a, b, c, o]

    (y,) = compute(
        "y",
        {"h": out, "v": out, "o": o},
        lambda h, v, o: reduce_over(
            "sum", {"a": kernel, "b": kernel, "c": c}, lambda a, b, c: tap(h, v, o, a, b, c)
        ),
    )
    z = compute(
        "z",
        {"h": out, "v": out, "o": o},
        lambda h, v, o: maximum_of(y[h, v, o] + bias[o], 0.0),
    )
    return Workload("convolution", (x, w, bias), z)


def conv_bn_relu(size: int, c: int, o: int) -> Workload:
    """3x3 convolution, then bias, scale, offset and relu as stages of their own."""
    base = convolution(size, c, o, (3, 1, 1))
    y = base.stages[0]
    axes = {a.name: a.extent for a in y.axes}
    conv = Tensor("y", y.shape, F, y)
    scale, offset = placeholder("scale", (o,)), placeholder("offset", (o,))
    bias = base.inputs[2]
    (b,) = compute("b", axes, lambda h, v, o: conv[h, v, o] + bias[o])
    (s,) = compute("s", axes, lambda h, v, o: b[h, v, o] * scale[o])
    (t,) = compute("t", axes, lambda h, v, o: s[h, v, o] + offset[o])
    z = compute("z", axes, lambda h, v, o: maximum_of(t[h, v, o], 0.0))
    return Workload("conv_bn_relu", (*base.inputs, scale, offset), z)


def max_pool(size: int, c: int, kernel: int) -> Workload:
    x = placeholder("x", (size, size, c))
    out = size // kernel
    y = compute(
        "y",
        {"h": out, "v": out, "c": c},
        lambda h, v, c: reduce_over(
            "max", {"a": kernel, "b": kernel}, lambda a, b: x[h * kernel + a, v * kernel + b, c]
        ),
    )
    return Workload("max_pool", (x,), y)


def row_minimum(m: int, n: int) -> Workload:
    x = placeholder("x", (m, n))
    y = compute("y", {"i": m}, lambda i: reduce_over("min", {"k": n}, lambda k: x[i, k]))
    return Workload("row_minimum", (x,), y)


def softmax(m: int, n: int) -> Workload:
    x = placeholder("x", (m, n))
    (top,) = compute("top", {"i": m}, lambda i: reduce_over("max", {"k": n}, lambda k: x[i, k]))
    (e,) = compute("e", {"i": m, "j": n}, lambda i, j: call("exp", x[i, j] - top[i]))
    (s,) = compute("s", {"i": m}, lambda i: reduce_over("sum", {"k": n}, lambda k: e[i, k]))
    return Workload("softmax", (x,), compute("y", {"i": m, "j": n}, lambda i, j: e[i, j] / s[i]))


def layer_norm(m: int, n: int) -> Workload:
    x, gain = placeholder("x", (m, n)), placeholder("gain", (n,), constant=True)
    (s,) = compute("s", {"i": m}, lambda i: reduce_over("sum", {"k": n}, lambda k: x[i, k]))
    (d,) = compute("d", {"i": m, "j": n}, lambda i, j: x[i, j] - s[i] * (1.0 / n))
    (v,) = compute(
        "v", {"i": m}, lambda i: reduce_over("sum", {"k": n}, lambda k: d[i, k] * d[i, k])
    )
    y = compute(
        "y",
        {"i": m, "j": n},
        lambda i, j: d[i, j] * call("rsqrt", v[i] * (1.0 / n) + 1e-5) * gain[j],
    )
    return Workload("layer_norm", (x, gain), y)


def attention_scores(seq: int, heads: int, dim: int) -> Workload:
    """softmax over j of the sum over d of q[i, h, d] * k[j, h, d]."""
    q, k = placeholder("q", (seq, heads, dim)), placeholder("k", (seq, heads, dim))
    axes = {"h": heads, "i": seq, "j": seq}
    (s,) = compute(
        "s",
        axes,
        lambda h, i, j: reduce_over("sum", {"d": dim}, lambda d: q[i, h, d] * k[j, h, d]),
    )
    rows = {"h": heads, "i": seq}
    (m,) = compute("m", rows, lambda h, i: reduce_over("max", {"r": seq}, lambda r: s[h, i, r]))
    (e,) = compute("e", axes, lambda h, i, j: call("exp", s[h, i, j] - m[h, i]))
    (t,) = compute("t", rows, lambda h, i: reduce_over("sum", {"r": seq}, lambda r: e[h, i, r]))
    y = compute("y", axes, lambda h, i, j: e[h, i, j] / t[h, i])
    return Workload("attention_scores", (q, k), y)


def total(n: int) -> Workload:
    x = placeholder("x", (n,))
    return Workload(
        "total", (x,), compute("y", {}, lambda: reduce_over("sum", {"k": n}, lambda k: x[k]))
    )


def arg_max(m: int, n: int) -> Workload:
    x = placeholder("x", (m, n))
    best = compute(
        "best",
        {"i": m},
        lambda i: reduce_over("argmax", {"k": n}, lambda k: (x[i, k], Index(k))),
    )
    return Workload("arg_max", (x,), (best[1],))


def max_and_sum(m: int, n: int) -> Workload:
    """The (max, sum of exp) pair of an online softmax."""
    x = placeholder("x", (m, n))
    pair = compute(
        "pair",
        {"i": m},
        lambda i: reduce_over("maxsum", {"k": n}, lambda k: (x[i, k], Const(1.0, F))),
    )
    return Workload("max_and_sum", (x,), pair)


def matmul_and_relu(m: int, n: int, k: int) -> Workload:
    """Two outputs: a product and its relu."""
    a, b = placeholder("a", (m, k)), placeholder("b", (k, n))
    c = _product(a, b, "c", (m, n, k))
    (d,) = compute("d", {"i": m, "j": n}, lambda i, j: maximum_of(c[i, j], 0.0))
    return Workload("matmul_and_relu", (a, b), (c, d))


def transposed_convolution(size: int, c: int, o: int) -> Workload:
    """4x4, stride 2, padding 1, in phase form: only the taps that are not zero."""
    x = placeholder("x", (size, size, c))
    w = placeholder("w", (4, 4, c, o), constant=True)

    def tap(point: tuple[Int, Int, Int, Int, Int], a: Int, b: Int, c: Int) -> Expr:
        hq, hp, vq, vp, o = point
        y, z = hq + (hp + 1) // 2 - a, vq + (vp + 1) // 2 - b
        weight = w[a * 2 + (hp + 1) % 2, b * 2 + (vp + 1) % 2, c, o]
        return _padded(x, (y, z, c), ((y, size), (z, size)), 0.0) * weight

    y = compute(
        "y",
        {"hq": size, "hp": 2, "vq": size, "vp": 2, "o": o},
        lambda *point: reduce_over(
            "sum", {"a": 2, "b": 2, "c": c}, lambda a, b, c: tap(point, a, b, c)
        ),
    )
    return Workload("transposed_convolution", (x, w), y)
