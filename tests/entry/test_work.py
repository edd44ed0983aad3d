"""A source as work: a computation of the user's own is checked before anything is derived from it."""

from __future__ import annotations

import pytest

from autosched.entry.work import work_of
from autosched.errors import InvalidInput
from autosched.te.integer import Int, symbol
from autosched.te.workload import Workload, compute, placeholder, reduce_over


def row_sums(rows: Int | int) -> Workload:
    x = placeholder("x", (rows, 4))
    (y,) = compute("y", {"i": rows}, lambda i: reduce_over("sum", {"k": 4}, lambda k: x[i, k]))
    return Workload("sums", (x,), (y,))


def test_a_sound_workload_is_one_subject_and_an_empty_one_none() -> None:
    assert [s.name for s in work_of(row_sums(5)).subjects] == ["sums"]
    assert work_of(row_sums(0)).subjects == ()


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        (symbol("n", "size"), "'x': dimension 0 is n; give every dimension as a number"),
        (-3, "'x' has dimension 0 of size -3"),
        (1 << 60, "bytes of memory allowed"),
    ],
)
def test_sizes_that_are_none_are_named(rows: Int | int, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        work_of(row_sums(rows))


def test_a_workload_without_a_computation_is_refused() -> None:
    x = placeholder("x", (3,))
    with pytest.raises(InvalidInput, match="'nothing' computes nothing"):
        work_of(Workload("nothing", (x,), (x,)))
