"""The column engine against the integer table, and one row at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from autosched.features.columns import ColumnGraph, compile_columns
from autosched.te.integer import (
    Int,
    as_int,
    ceil_div,
    equal,
    evaluate,
    less,
    less_equal,
    maximum,
    minimum,
    select,
    symbol,
)

X, Y = symbol("x", "decision"), symbol("y", "decision")
OPERATORS = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a // maximum(b, 1),
    lambda a, b: ceil_div(a, maximum(b, 1)),
    lambda a, b: a % maximum(b, 1),
    minimum,
    maximum,
    lambda a, b: select(less(a, b), a + 1, b),
    lambda a, b: equal(a, b) + less_equal(a, b),
)


def expressions() -> st.SearchStrategy[Int]:
    leaves = st.one_of(st.sampled_from([X, Y]), st.integers(-40, 40).map(as_int))
    return st.recursive(
        leaves,
        lambda inner: st.tuples(st.sampled_from(OPERATORS), inner, inner).map(
            lambda t: t[0](t[1], t[2])
        ),
        max_leaves=8,
    )


@settings(max_examples=200, deadline=None)
@given(expressions(), st.lists(st.tuples(st.integers(0, 64), st.integers(0, 64)), min_size=1))
def test_columns_equal_the_integer_table(expression: Int, rows: list[tuple[int, int]]) -> None:
    graph = ColumnGraph()
    program = compile_columns([graph.integer(expression), graph.integer(X)], ["x", "y"])
    inputs = np.array(rows, np.float64).T.copy()
    outputs = np.empty((2, len(rows)))
    program.run(list(inputs), list(outputs), np.empty((program.n_registers, len(rows))))
    expected = [evaluate(expression, {X: x, Y: y}) for x, y in rows]
    assert outputs[0].tolist() == expected
    assert outputs[1].tolist() == [x for x, _ in rows]


def test_common_parts_are_computed_once_and_registers_are_reused() -> None:
    graph = ColumnGraph()
    x, y = graph.input("x"), graph.input("y")
    shared = x + y
    long = shared
    for _ in range(20):
        long = graph.maximum(long * 2.0, shared)
    program = compile_columns([long, shared * shared], ["x", "y"])
    assert sum(1 for call, _, _ in program.instructions if call is np.add) == 1
    assert program.n_registers <= 4
