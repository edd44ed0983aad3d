"""Regions by substitution: exact for affine indices, never too small for any other."""

from __future__ import annotations

import itertools

import pytest

from autosched.nest.footprint import Access, Reach, footprint, stride
from autosched.nest.nodes import Buffer
from autosched.te.integer import Int, as_int, ceil_div, evaluate, less, minimum, select, symbol

X, Y, Z = (symbol(n, "index") for n in "xyz")
R = symbol("r", "decision")
BUFFER = Buffer("b", (as_int(40), as_int(50)), "float32", "global", "input")


def touched(
    accesses: list[tuple[Int, Int]], extents: dict[Int, int], outer: dict[Int, int], r: int
) -> int:
    """Most addresses that the inner loops touch, over all values of the outer ones."""
    largest = 0
    for fixed in itertools.product(*(range(n) for n in outer.values())):
        seen = set()
        for inner in itertools.product(*(range(n) for n in extents.values())):
            values = {
                R: r,
                **dict(zip(outer, fixed, strict=True)),
                **dict(zip(extents, inner, strict=True)),
            }
            seen |= {tuple(evaluate(i, values) for i in indices) for indices in accesses}
        largest = max(largest, len(seen))
    return largest


CASES: dict[str, tuple[list[tuple[Int, Int]], bool]] = {
    "affine": ([(X * 3 + Y, Z)], True),
    "symbolic tile": ([(Z * R + X, Y)], True),
    "stencil": ([(X, Z + Y - 1), (X, Z + Y), (X, Z + Y + 1)], True),
    "negative": ([(as_int(20) - X, Y)], True),
    "strided": ([(X * 2, Y * 2)], False),
    "halo": ([(Z * 2 + X + Y, as_int(0))], True),
    "quotient": ([((Z * 3 + X) // 2, Y)], False),
    "whole quotient": ([(X // 2, Y)], True),
    "remainder": ([((Z + X) % 4, Y)], False),
    "clipped": ([(minimum(Z + X, 5), Y)], False),
    "rounded up": ([(ceil_div(Z + X, 2), Y)], False),
    "choice": ([(select(less(X, 2), X, Y + 9), Z)], False),
    "two places": ([(X, Y), (Z + 20, Y)], False),
    "product": ([(X * Y, Z)], False),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("r", [1, 3])
def test_footprint(name: str, r: int) -> None:
    accesses, exact = CASES[name]
    extents, outer = {X: 4, Y: 3}, {Z: 5}
    reach = Reach({s: as_int(n) for s, n in extents.items()})
    size = footprint([Access(BUFFER, indices) for indices in accesses], reach)
    bound = evaluate(size, {R: r})
    seen = touched(accesses, extents, outer, r)
    assert bound >= seen
    if exact:
        assert bound == seen


def test_nothing_moves_outside_the_inner_loops() -> None:
    size = footprint([Access(BUFFER, (Z * R, Y))], Reach({}))
    assert evaluate(size, {R: 7}) == 1


def test_stride_is_the_coefficient() -> None:
    assert evaluate(stride((Z * R + X, Y * 2), BUFFER, X), {R: 3}) == 50
    assert evaluate(stride((Z * R + X, Y * 2), BUFFER, Z), {R: 3}) == 150
    assert evaluate(stride((Z * R + X, Y * 2), BUFFER, Y), {R: 3}) == 2
