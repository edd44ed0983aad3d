"""Evaluation against NumPy: contractions, padding, tuples, integers, symbolic shapes, blocks."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.te import evaluate as module
from autosched.te.evaluate import evaluate_workload
from autosched.te.expr import Const, Expr, Index, Select, call, cast, condition
from autosched.te.integer import all_of, less, less_equal, symbol
from autosched.te.workload import Reduction, Workload, compute, placeholder, reduce_over

RANDOM = np.random.default_rng(7)


def matmul(n: int, m: int, k: int, dtype: str = "float32", into: str = "float32") -> Workload:
    a, b = placeholder("a", (n, k), dtype), placeholder("b", (k, m), dtype)
    (c,) = compute(
        "c",
        {"i": n, "j": m},
        lambda i, j: reduce_over(
            "sum", {"k": k}, lambda k: cast(into, a[i, k]) * cast(into, b[k, j])
        ),
    )
    return Workload("matmul", (a, b), (c,))


def padded_window_sum(length: int, window: int, before: int) -> Workload:
    x = placeholder("x", (length,))

    def body(i: object) -> Reduction:
        def term(r: object) -> Expr:
            at = i + r - before  # type: ignore[operator]
            inside = condition(all_of([less_equal(0, at), less(at, length)]))
            return Select(inside, x[at], Const(0.0, "float32"))

        return reduce_over("sum", {"r": window}, term)

    (y,) = compute("y", {"i": length}, body)
    return Workload("window", (x,), (y,))


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (0, 4, 3), (2, 3, 0), (64, 48, 96)])
def test_matmul_is_numpy_matmul(shape: tuple[int, int, int]) -> None:
    n, m, k = shape
    a, b = RANDOM.standard_normal((n, k)), RANDOM.standard_normal((k, m))
    a, b = a.astype(np.float32), b.astype(np.float32)
    (c,) = evaluate_workload(matmul(n, m, k), (a, b))
    np.testing.assert_allclose(c, a.astype(float) @ b.astype(float), rtol=1e-13, atol=1e-13)
    assert c.dtype == np.float64


def test_declared_dtypes_are_kept_when_asked() -> None:
    a, b = np.full((2, 3), 0.1), np.full((3, 2), 0.3)
    (c,) = evaluate_workload(matmul(2, 2, 3), (a, b), accumulate=None)
    assert c.dtype == np.float32


def test_int8_products_are_summed_in_int32() -> None:
    a = RANDOM.integers(-128, 128, (5, 300)).astype(np.int8)
    b = RANDOM.integers(-128, 128, (300, 4)).astype(np.int8)
    (c,) = evaluate_workload(matmul(5, 4, 300, "int8", "int32"), (a, b))
    assert c.dtype == np.int32
    assert np.array_equal(c, a.astype(np.int64) @ b.astype(np.int64))


def test_padding_never_reads_out_of_range() -> None:
    x = np.arange(1, 6, dtype=np.float32)
    (y,) = evaluate_workload(padded_window_sum(5, 3, 1), (x,))
    assert y.tolist() == [3, 6, 9, 12, 9]


def test_an_unguarded_load_out_of_range_is_named() -> None:
    x = placeholder("x", (4,))
    (y,) = compute("y", {"i": 4}, lambda i: x[i + 1])
    with pytest.raises(IndexError, match="x is read at"):
        evaluate_workload(Workload("shift", (x,), (y,)), (np.zeros(4),))


def test_an_input_of_another_shape_is_read_row_major() -> None:
    a, b = np.arange(6.0), np.ones((2, 3))
    (c,) = evaluate_workload(matmul(2, 2, 3), (a, b))
    assert c.tolist() == [[3, 3], [12, 12]]


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(ValueError, match="2 inputs, 1 given"):
        evaluate_workload(matmul(2, 2, 3), (np.zeros(6),))
    with pytest.raises(ValueError, match=r"a has shape \(2, 3\)"):
        evaluate_workload(matmul(2, 2, 3), (np.zeros(5), np.zeros(6)))


def test_argmax_finds_the_first_and_nan_wins() -> None:
    x = placeholder("x", (4, 7))
    value, index = compute(
        "best", {"i": 4}, lambda i: reduce_over("argmax", {"k": 7}, lambda k: (x[i, k], Index(k)))
    )
    data = RANDOM.standard_normal((4, 7)).astype(np.float32)
    data[1, 3], data[2, 2:4], data[3] = np.nan, 9, -np.inf
    top, where = evaluate_workload(Workload("argmax", (x,), (value, index)), (data,))
    assert np.array_equal(where, data.argmax(1))
    np.testing.assert_array_equal(top, data.max(1).astype(np.float64))


def test_online_softmax_pair() -> None:
    x = placeholder("x", (3, 11))
    top, total = compute(
        "pair",
        {"i": 3},
        lambda i: reduce_over("maxsum", {"k": 11}, lambda k: (x[i, k], Const(1.0, "float32"))),
    )
    data = RANDOM.standard_normal((3, 11)).astype(np.float32)
    m, s = evaluate_workload(Workload("pair", (x,), (top, total)), (data,))
    np.testing.assert_array_equal(m, data.max(1).astype(np.float64))
    np.testing.assert_allclose(s, np.exp(data.astype(float) - m[:, None]).sum(1), rtol=1e-12)


def test_stages_feed_each_other_and_every_output_is_returned() -> None:
    x = placeholder("x", (3, 4))
    (total,) = compute("t", {"i": 3}, lambda i: reduce_over("sum", {"k": 4}, lambda k: x[i, k]))
    (y,) = compute("y", {"i": 3, "j": 4}, lambda i, j: call("exp", x[i, j] / total[i]))
    data = RANDOM.uniform(1, 2, (3, 4)).astype(np.float32)
    first, second = evaluate_workload(Workload("w", (x,), (y, total)), (data,))
    wide = data.astype(np.float64)
    np.testing.assert_allclose(first, np.exp(wide / wide.sum(1, keepdims=True)), rtol=1e-13)
    np.testing.assert_allclose(second, wide.sum(1), rtol=1e-13)


def test_a_size_symbol_takes_the_value_of_the_array() -> None:
    n = symbol("n", "size")
    x = placeholder("x", (n, 3))
    (y,) = compute("y", {"i": n, "j": 3}, lambda i, j: x[n - 1 - i, j])
    data = RANDOM.standard_normal((5, 3))
    (flipped,) = evaluate_workload(Workload("flip", (x,), (y,)), (data,))
    assert np.array_equal(flipped, data.astype(np.float32)[::-1])


@pytest.mark.parametrize("block", [1, 7, 64])
def test_small_blocks_give_the_same_values(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    x = placeholder("x", (5, 9, 4))
    value, index = compute(
        "best",
        {"i": 5},
        lambda i: reduce_over(
            "argmin", {"j": 9, "k": 4}, lambda j, k: (x[i, j, k], Index(j * 4 + k))
        ),
    )
    data = RANDOM.standard_normal((5, 9, 4)).astype(np.float32)
    a, b = RANDOM.standard_normal((13, 6)), RANDOM.standard_normal((6, 11))
    whole = evaluate_workload(matmul(13, 11, 6), (a, b))[0]
    monkeypatch.setattr(module, "BLOCK_ELEMENTS", block)
    _, where = evaluate_workload(Workload("argmin", (x,), (value, index)), (data,))
    assert np.array_equal(where, data.reshape(5, -1).argmin(1))
    np.testing.assert_allclose(evaluate_workload(matmul(13, 11, 6), (a, b))[0], whole, rtol=1e-12)


def test_three_factors_and_an_axis_nobody_reads() -> None:
    x, y = placeholder("x", (3,)), placeholder("y", (3, 4))
    (z,) = compute(
        "z",
        {"i": 3},
        lambda i: reduce_over(
            "sum", {"j": 4, "unused": 5}, lambda j, unused: x[i] * y[i, j] * y[i, j]
        ),
    )
    a, b = RANDOM.standard_normal(3), RANDOM.standard_normal((3, 4))
    (found,) = evaluate_workload(Workload("w", (x, y), (z,)), (a, b), accumulate=None)
    np.testing.assert_allclose(found, 5 * a * (b**2).sum(1), rtol=1e-5)
