"""Canonical form: the same key for the same computation, the same values, and a fixed point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autosched.te.canonical import canonical
from autosched.te.evaluate import evaluate_workload
from autosched.te.expr import Const, Expr, Index, Select, call, condition
from autosched.te.integer import all_of, less, less_equal
from autosched.te.workload import (
    Tensor,
    Workload,
    canonical_text,
    compute,
    placeholder,
    reduce_over,
)

RANDOM = np.random.default_rng(3)


def bias_add() -> Workload:
    """Rows and columns of an image are one axis; the channel stays apart."""
    x, b = placeholder("x", (2, 3, 4, 5)), placeholder("b", (1, 3, 1, 1))
    (y,) = compute(
        "y",
        {"n": 2, "c": 3, "h": 4, "w": 5},
        lambda n, c, h, w: x[n, c, h, w] + b[0, c, 0, 0],
    )
    return Workload("bias", (x, b), (y,))


def bias_add_merged() -> Workload:
    x, b = placeholder("data", (2, 3, 20)), placeholder("bias", (3,))
    (y,) = compute("out", {"a": 2, "b": 3, "c": 20}, lambda i, j, k: b[j] + x[i, j, k])
    return Workload("bias", (x, b), (y,))


def _matmul(a: Callable[..., Expr], b: Tensor, n: int, k: int) -> Tensor:
    (y,) = compute(
        "y",
        {"n": n, "j": 7},
        lambda n, j: reduce_over("sum", {"k": k}, lambda k: a(n, k) * b[k, j]),
    )
    return y


def flattened_matmul() -> Workload:
    """exp, flatten as a stage of its own, matrix product."""
    x, w = placeholder("x", (2, 3, 4, 5)), placeholder("w", (60, 7))
    (e,) = compute(
        "e", {"n": 2, "c": 3, "h": 4, "w": 5}, lambda n, c, h, w: call("exp", x[n, c, h, w])
    )
    (t,) = compute("t", {"n": 2, "k": 60}, lambda n, k: e[n, k // 20, k % 20 // 5, k % 5])
    return Workload("flat", (x, w), (_matmul(lambda n, k: t[n, k], w, 2, 60),))


def plain_matmul() -> Workload:
    x, w = placeholder("x", (2, 60)), placeholder("w", (60, 7))
    (e,) = compute("e", {"n": 2, "k": 60}, lambda n, k: call("exp", x[n, k]))
    return Workload("flat", (x, w), (_matmul(lambda n, k: e[n, k], w, 2, 60),))


def pointwise_convolution() -> Workload:
    """A 1x1 convolution, guards that always hold and all."""
    x, w = placeholder("x", (1, 6, 5, 8)), placeholder("w", (1, 1, 8, 3))

    def body(n: int, h: int, v: int, f: int) -> object:
        def term(r: int, s: int, c: int) -> Expr:
            inside = condition(all_of([less_equal(0, h + r), less(h + r, 6)]))  # type: ignore[list-item]
            return Select(inside, x[n, h + r, v + s, c], Const(0.0, "float32")) * w[r, s, c, f]

        return reduce_over("sum", {"r": 1, "s": 1, "c": 8}, term)

    (y,) = compute("y", {"n": 1, "h": 6, "v": 5, "f": 3}, body)  # type: ignore[arg-type]
    return Workload("conv", (x, w), (y,))


def matmul_30() -> Workload:
    x, w = placeholder("x", (30, 8)), placeholder("w", (8, 3))
    (y,) = compute(
        "y",
        {"i": 30, "j": 3},
        lambda i, j: reduce_over("sum", {"k": 8}, lambda k: w[k, j] * x[i, k]),
    )
    return Workload("conv", (x, w), (y,))


def pooled_mean() -> Workload:
    x = placeholder("x", (2, 3, 4, 5))
    (total,) = compute(
        "t",
        {"n": 2, "c": 3, "h": 1, "w": 1},
        lambda n, c, h, w: reduce_over("sum", {"v": 5, "u": 4}, lambda v, u: x[n, c, u, v]),
    )
    (y,) = compute(
        "y",
        {"n": 2, "c": 3, "h": 1, "w": 1},
        lambda n, c, h, w: total[n, c, h, w] / 20.0,
    )
    return Workload("mean", (x,), (y,))


def row_mean() -> Workload:
    x = placeholder("x", (6, 20))
    (total,) = compute("t", {"i": 6}, lambda i: reduce_over("sum", {"k": 20}, lambda k: x[i, k]))
    (y,) = compute("y", {"i": 6}, lambda i: total[i] / 20.0)
    return Workload("mean", (x,), (y,))


def transposed_then_reshaped_output() -> Workload:
    """The transpose feeds the sum directly; the reshape of the output is the same memory."""
    x = placeholder("x", (3, 4))
    (t,) = compute("t", {"i": 4, "j": 3}, lambda i, j: x[j, i])
    (s,) = compute("s", {"i": 4, "j": 3}, lambda i, j: t[i, j] + t[i, j])
    (y,) = compute("y", {"k": 12}, lambda k: s[k // 3, k % 3])
    return Workload("view", (x,), (y,))


def read_transposed() -> Workload:
    x = placeholder("x", (3, 4))
    (s,) = compute("s", {"i": 4, "j": 3}, lambda i, j: x[j, i] + x[j, i])
    return Workload("view", (x,), (s,))


def argmax_of_image() -> Workload:
    """The position counts the merged axis."""
    x = placeholder("x", (3, 4, 5))
    value, index = compute(
        "best",
        {"n": 3},
        lambda n: reduce_over(
            "argmax", {"h": 4, "w": 5}, lambda h, w: (x[n, h, w], Index(h * 5 + w))
        ),
    )
    return Workload("argmax", (x,), (value, index))


def argmax_of_row() -> Workload:
    x = placeholder("x", (3, 20))
    value, index = compute(
        "best",
        {"n": 3},
        lambda n: reduce_over("argmax", {"k": 20}, lambda k: (x[n, k], Index(k))),
    )
    return Workload("argmax", (x,), (value, index))


def shared_exp() -> Workload:
    """One exponential written twice, one stage that nobody needs."""
    x = placeholder("x", (6,))
    (a,) = compute("a", {"i": 6}, lambda i: call("exp", x[i]))
    (b,) = compute("b", {"j": 6}, lambda j: call("exp", x[j]))
    (y,) = compute("y", {"i": 6}, lambda i: a[i] * 1.0 + b[i])
    return Workload("twice", (x,), (y,))


def single_exp() -> Workload:
    x = placeholder("x", (6,))
    (a,) = compute("a", {"i": 6}, lambda i: call("exp", x[i]))
    (y,) = compute("y", {"i": 6}, lambda i: a[i] + a[i])
    return Workload("twice", (x,), (y,))


SAME = [
    (bias_add, bias_add_merged),
    (flattened_matmul, plain_matmul),
    (pointwise_convolution, matmul_30),
    (pooled_mean, row_mean),
    (transposed_then_reshaped_output, read_transposed),
    (argmax_of_image, argmax_of_row),
    (shared_exp, single_exp),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=lambda f: f.__name__)
def test_two_ways_of_writing_have_one_key(
    one: Callable[[], Workload], other: Callable[[], Workload]
) -> None:
    assert canonical_text(canonical(one())) == canonical_text(canonical(other()))
    assert canonical(one()).key == canonical(other()).key


@pytest.mark.parametrize("make", [f for pair in SAME for f in pair], ids=lambda f: f.__name__)
def test_values_are_unchanged_and_the_form_is_fixed(make: Callable[[], Workload]) -> None:
    workload = make()
    inputs = [RANDOM.standard_normal(t.static_shape).astype(t.dtype) for t in workload.inputs]
    form = canonical(workload)
    for a, b in zip(
        evaluate_workload(workload, inputs), evaluate_workload(form, inputs), strict=True
    ):
        np.testing.assert_allclose(a.ravel(), b.ravel(), rtol=1e-12, atol=1e-12)
    assert canonical_text(canonical(form)) == canonical_text(form)


def test_readers_take_over_split_axes() -> None:
    """A matrix product by groups, then a bias over the joined axis, then a sum over rows."""
    x, w, b = placeholder("x", (5, 6)), placeholder("w", (6, 4)), placeholder("b", (12,))
    (s,) = compute(
        "s",
        {"i": 5, "g": 3, "r": 4},
        lambda i, g, r: reduce_over("sum", {"k": 2}, lambda k: x[i, g * 2 + k] * w[g * 2 + k, r]),
    )
    (y,) = compute("y", {"i": 5, "f": 12}, lambda i, f: s[i, f // 4, f % 4] + b[f])
    (z,) = compute("z", {"f": 12}, lambda f: reduce_over("sum", {"i": 5}, lambda i: y[i, f]))
    workload = Workload("groups", (x, w, b), (y, z))
    form = canonical(workload)
    assert [t.static_shape for t in form.outputs] == [(5, 3, 4), (3, 4)]
    inputs = [RANDOM.standard_normal(t.static_shape) for t in workload.inputs]
    for a, c in zip(
        evaluate_workload(workload, inputs), evaluate_workload(form, inputs), strict=True
    ):
        np.testing.assert_allclose(a.ravel(), c.ravel(), rtol=1e-12)
    assert not any(op in canonical_text(form) for op in (" / ", " % "))


def test_a_padded_axis_stays_whole() -> None:
    x = placeholder("x", (4, 4))

    def body(h: int, w: int) -> Expr:
        inside = condition(all_of([less_equal(1, h), less(w, 4)]))  # type: ignore[arg-type]
        return Select(inside, x[h - 1, w], Const(0.0, "float32"))

    (y,) = compute("y", {"h": 5, "w": 5}, body)
    form = canonical(Workload("pad", (x,), (y,)))
    assert [t.static_shape for t in (*form.inputs, *form.outputs)] == [(4, 4), (5, 5)]


def test_a_scalar_result_keeps_one_axis() -> None:
    x = placeholder("x", (1, 3, 4))
    (y,) = compute(
        "y",
        {"n": 1},
        lambda n: reduce_over("sum", {"i": 3, "j": 4}, lambda i, j: x[n, i, j] * x[n, i, j]),
    )
    form = canonical(Workload("norm", (x,), (y,)))
    assert [t.static_shape for t in (*form.inputs, *form.outputs)] == [(12,), (1,)]


def test_negative_zero_survives() -> None:
    x = placeholder("x", (2,))
    (y,) = compute("y", {"i": 2}, lambda i: (x[i] + 0.0) * 1.0)
    form = canonical(Workload("plus", (x,), (y,)))
    assert "add" in canonical_text(form)
    assert "mul" not in canonical_text(form)
