"""Which nests share a key: those with the same code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autosched.nest.digest import concrete_digest
from autosched.nest.forms import Forms, text
from autosched.nest.nodes import Block, Buffer, Node, Region, Store
from autosched.te.expr import Const
from autosched.te.integer import Int, as_int, evaluate, minimum, rebuilt, substitute
from autosched.te.interval import fold
from autosched.testing.nests import (
    Example,
    decision,
    flat_output,
    index,
    lane,
    loop,
    matmul,
    split_loop,
)


def _tiled(names: tuple[str, str], values: tuple[int, int], order: str = "io") -> str:
    """Key of y[i] = 1 for 12 elements in tiles of `values` units of `values` lanes."""
    units, lanes = decision(names[0]), decision(names[1])
    y = flat_output(names[0], 12)
    outer, middle, inner = (index(order + n) for n in "abc")
    base = outer * units * lanes + middle * lanes
    store = Store(y, (base + inner,), Const(1.0, "float32"))
    block = Block((lane(inner, base, 12, lanes),), (store,), vector=inner)
    most = minimum(units, 12)
    body = split_loop(outer, 12, units * lanes, (loop(middle, most, (block,)),))
    example = _nest(y, body)
    return concrete_digest(example, {units: values[0], lanes: values[1]})


def _nest(y: Buffer, *body: Node):  # type: ignore[no-untyped-def]
    return replace(
        matmul().nest,
        inputs=(),
        outputs=(y,),
        packed=(),
        prepare=(),
        regions=(Region("r", (), body),),
    )


def test_key_ignores_names_of_decisions_variables_and_buffers() -> None:
    assert _tiled(("m", "r"), (1, 4)) == _tiled(("p", "q"), (1, 4), order="x")


def test_loops_of_one_iteration_leave_no_trace_in_the_key() -> None:
    """Three tiles of one unit are one loop, as is one tile of three units."""
    assert _tiled(("m", "r"), (1, 4)) == _tiled(("m", "r"), (3, 4))


def test_different_tiles_have_different_keys() -> None:
    keys = {_tiled(("m", "r"), values) for values in ((1, 4), (1, 3), (2, 3), (1, 12))}
    assert len(keys) == 4


def _rename(example: Example, env: dict[Int, int]) -> str:
    return concrete_digest(replace(example.nest, name="other"), env)


def test_key_ignores_the_name_of_the_nest() -> None:
    example = matmul()
    assert _rename(example, example.environment) == concrete_digest(
        example.nest, example.environment
    )


def test_sums_in_another_order_share_a_key() -> None:
    y, i, j = flat_output("y", 20), index("i"), index("j")
    one = Const(1.0, "float32")
    nests = [
        _nest(y, loop(i, 4, (loop(j, 5, (Store(y, (at,), one),)),)))
        for at in (i * 5 + j, j + 5 * i, (i * 5 + 1) + (j + as_int(-1)))
    ]
    assert len({concrete_digest(n, {}) for n in nests}) == 1


@pytest.mark.parametrize("seed", range(30))
def test_forms_say_what_folding_says(seed: int) -> None:
    """Random expressions over four variables: as exact as the fold, and with its value at every point."""
    rng = np.random.default_rng(seed)
    variables = [index(name) for name in "abcd"]
    extents = [int(e) for e in rng.integers(1, 7, 4)]
    forms = Forms({decision("m"): 3})
    for var, extent in zip(variables, extents, strict=True):
        forms.open(var, as_int(extent))
    ranges = {v: (0, e - 1) for v, e in zip(variables, extents, strict=True)}
    for _ in range(40):
        expression = _random_expression(rng, variables, depth=4)
        points = {v: rng.integers(0, e, 50) for v, e in zip(variables, extents, strict=True)}
        values = np.broadcast_to(evaluate(expression, {**points, decision("m"): 3}), (50,))
        form = forms.form(expression)
        low, high = forms.reach(form)
        assert low <= values.min() <= values.max() <= high, f"{expression!r} -> {text(form)}"
        if not form[1]:
            assert set(values) == {form[0]}, f"{expression!r}"
        folded = fold(substitute(expression, {decision("m"): as_int(3)}), ranges)
        assert not (folded.is_constant and form[1]), f"{expression!r} -> {folded!r}, {text(form)}"


def _random_expression(rng: np.random.Generator, variables: list[Int], depth: int) -> Int:
    if depth == 0 or rng.random() < 0.1:
        leaves = [*variables, decision("m"), as_int(int(rng.integers(-4, 9)))]
        return leaves[rng.integers(len(leaves))]
    op = str(rng.choice(["add", "add", "mul", "floordiv", "ceildiv", "mod", "min", "max", "lt"]))
    a = _random_expression(rng, variables, depth - 1)
    if op in ("floordiv", "ceildiv", "mod"):
        return rebuilt(op, a, as_int(int(rng.integers(1, 6))))
    return rebuilt(op, a, _random_expression(rng, variables, depth - 1))
