"""Checks accept what a correct float kernel computes and refuse what a wrong one does."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.te.evaluate import evaluate_workload
from autosched.te.expr import call
from autosched.te.workload import Workload, compute, placeholder, reduce_over
from autosched.tuning.check import chain_length, make_check, tolerance
from autosched.tuning.magnitude import exact_integer_range


def matmul(n: int = 8, m: int = 7, k: int = 33) -> Workload:
    a, b = placeholder("a", (n, k)), placeholder("b", (k, m))
    (c,) = compute(
        "c",
        {"i": n, "j": m},
        lambda i, j: reduce_over("sum", {"k": k}, lambda k: a[i, k] * b[k, j]),
    )
    return Workload("matmul", (a, b), (c,))


def roots(n: int = 50) -> Workload:
    x = placeholder("x", (n,))
    (y,) = compute("y", {"i": n}, lambda i: call("sqrt", x[i]))
    return Workload("roots", (x,), (y,))


def test_three_sets_one_of_them_exact() -> None:
    check = make_check(matmul(), np.random.default_rng(1))
    assert [s.exact for s in check.sets] == [True, False, False]
    for s in check.sets:
        assert [x.shape for x in s.inputs] == [(8, 33), (33, 7)]
        assert s.expected[0].dtype == np.float32


def test_the_exact_set_is_bitwise_equal_in_float32() -> None:
    workload = matmul()
    (exact, *_) = make_check(workload, np.random.default_rng(2)).sets
    (computed,) = evaluate_workload(workload, exact.inputs, None)
    assert np.array_equal(computed, exact.expected[0])


def test_a_float32_evaluation_stays_within_the_tolerance_and_a_dropped_term_does_not() -> None:
    workload = matmul(k=257)
    for s in make_check(workload, np.random.default_rng(3)).sets[1:]:
        (computed,) = evaluate_workload(workload, s.inputs, None)
        assert np.abs(computed - s.expected[0]).max() <= s.tolerances[0]
        a, b = s.inputs
        dropped = a[:, :-1] @ b[:-1]
        assert np.abs(dropped - s.expected[0]).max() > 100 * s.tolerances[0]


def test_a_function_with_a_domain_is_checked_inside_it() -> None:
    for s in make_check(roots(), np.random.default_rng(4)).sets:
        assert np.isfinite(s.expected[0]).all()
        assert not s.exact


@pytest.mark.parametrize(("k", "largest"), [(16, 4), (1 << 21, 2), (1 << 23, 1), (1 << 25, None)])
def test_longer_sums_take_smaller_integers(k: int, largest: int | None) -> None:
    assert exact_integer_range(matmul(2, 2, k)) == largest


def test_reductions_in_a_row_add_up() -> None:
    x = placeholder("x", (4, 5, 6))
    (s,) = compute(
        "s", {"i": 4, "j": 5}, lambda i, j: reduce_over("sum", {"k": 6}, lambda k: x[i, j, k])
    )
    (t,) = compute("t", {"i": 4}, lambda i: reduce_over("max", {"j": 5}, lambda j: s[i, j]))
    workload = Workload("two", (x,), (t,))
    assert chain_length(workload) == 11
    assert tolerance(workload, t, np.zeros(4)) == 0.0


def test_the_same_stream_draws_the_same_sets() -> None:
    first, second = (make_check(matmul(), np.random.default_rng(5)) for _ in range(2))
    for a, b in zip(first.sets, second.sets, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(a.inputs, b.inputs, strict=True))
