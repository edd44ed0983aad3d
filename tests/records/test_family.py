"""Families: workloads that differ in extents alone."""

from __future__ import annotations

import math
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autosched.records.family import extents, family_key, shape_distance
from autosched.te.expr import Expr
from autosched.te.workload import Workload, canonical_text, compute, placeholder, reduce_over


def matmul_text(m: int, n: int, k: int, dtype: str = "float32", scale: float = 1.0) -> str:
    a = placeholder("a", (m, k), dtype)
    b = placeholder("b", (k, n), dtype, constant=True)
    (c,) = compute(
        "c",
        {"i": m, "j": n},
        lambda i, j: reduce_over("sum", {"r": k}, lambda r: a[i, r] * b[r, j]),
    )

    def scaled(i: Expr, j: Expr) -> Expr:
        return c[i, j] * scale

    (d,) = compute("d", {"i": m, "j": n}, scaled)
    return canonical_text(Workload("matmul", (a, b), (d,)))


sizes = st.integers(2, 4096)

SLOW_CONSTANT = re.compile(r"[^\s(\[,]+:(?=[a-z]+\d*\b)")
"""What a constant is, without a bound on the steps of the search."""

HOSTILE = ("a", ":", "a:", "1:", "9", "a:A", ":a1_", "é:", "(a", "1.5:f", "0x1:float32")
"""Pieces that repeated make a search for constants or numbers begin or go back at every character."""


@given(sizes, sizes, sizes, sizes)
def test_extents_leave_the_family(m: int, n: int, k: int, other: int) -> None:
    first, second = matmul_text(m, n, k), matmul_text(m, n, other)
    assert family_key(first) == family_key(second)
    assert {m, n, k} <= set(extents(first))
    assert shape_distance(first, first) == 0.0
    assert shape_distance(first, second) == shape_distance(second, first)
    assert (shape_distance(first, second) > 0) == (k != other)


def test_constants_leave_the_family() -> None:
    assert family_key(matmul_text(8, 8, 8, scale=0.25)) == family_key(
        matmul_text(8, 8, 8, scale=3.0)
    )


@pytest.mark.parametrize(
    "other",
    [
        matmul_text(8, 8, 8, "float16"),
        matmul_text(8, 8, 8).replace(" constant", ""),
        matmul_text(8, 8, 8).replace("mul", "add"),
    ],
)
def test_everything_else_is_another_family(other: str) -> None:
    assert family_key(other) != family_key(matmul_text(8, 8, 8))
    assert shape_distance(other, matmul_text(8, 8, 8)) == math.inf


def slow_extents(text: str) -> tuple[int, ...]:
    return tuple(
        int(n) for n in re.findall(r"(?<![\w.:])\d+(?![\w.:])", SLOW_CONSTANT.sub("#:", text))
    )


words = st.sampled_from(
    [*"([, \n<])=", ":", "a", "A", "_", "-", "7", "1.5", "0x1p-3", "float32", "int64", "é", "²"]
)


@given(st.lists(words, max_size=40).map("".join))
def test_constants_are_what_an_unbounded_search_finds(text: str) -> None:
    assert extents(text) == slow_extents(text)


@pytest.mark.parametrize("piece", HOSTILE)
def test_cost_of_a_text_is_that_of_its_length(piece: str) -> None:
    """A search that began anew at each character would take a hundred times as long for each of the longer text."""

    def seconds_per_character(characters: int) -> float:
        text = piece * (characters // len(piece))
        begun = time.process_time()
        family_key(text)
        return (time.process_time() - begun) / characters

    short = max(seconds_per_character(10 << 10) for _ in range(3))
    assert seconds_per_character(1 << 20) < 20 * max(short, 1e-9)
