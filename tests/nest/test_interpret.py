"""The interpreter against NumPy on hand-written nests, and what it must refuse."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.nest.interpret import interpret
from autosched.nest.nodes import Alloc, Block, Buffer, Count, Lane, Nest, Region, Store
from autosched.nest.observer import AccessError, Trace
from autosched.te.expr import Const, Load
from autosched.te.integer import as_int
from autosched.testing.gpu_nests import GPU_NESTS, barriers_removed
from autosched.testing.nests import NESTS, flat_input, flat_output, index, ints, loop, whole


def _agree(found: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    if tolerance == 0:
        return bool(np.array_equal(found, expected, equal_nan=found.dtype.kind == "f"))
    return bool(np.abs(found - expected).max() <= tolerance * np.abs(expected).max())


EXAMPLES = {**NESTS, **GPU_NESTS}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_equals_numpy(name: str) -> None:
    example = EXAMPLES[name]()
    rng = np.random.default_rng(3)
    inputs = example.inputs(rng)
    found = interpret(example.nest, example.environment, inputs, order=rng)
    for got, want in zip(found, example.expected(*inputs), strict=True):
        assert got.dtype == want.dtype
        assert _agree(got, want, example.tolerance)


def _region(*body: object, outputs: tuple[Buffer, ...]) -> Nest:
    return Nest("n", (), outputs, (), (), (), (Region("r", (), tuple(body)),))


def test_index_outside_the_shape_names_buffer_and_index() -> None:
    y, i = flat_output("y", 4), index("i")
    body = loop(i, 5, (Store(y, (i,), Const(1.0, "float32")),))
    with pytest.raises(AccessError, match=r"y: index 4 in dimension 0 of extent 4"):
        interpret(_region(body, outputs=(y,)), {}, [])


def test_negative_index_is_refused() -> None:
    y, i = flat_output("y", 4), index("i")
    body = loop(i, 4, (Store(y, (i - 1,), Const(1.0, "float32")),))
    with pytest.raises(AccessError, match=r"y: index -1"):
        interpret(_region(body, outputs=(y,)), {}, [])


def test_limit_beyond_the_extent_is_refused() -> None:
    y, i, j = flat_output("y", 4), index("i"), index("j")
    inner = loop(j, 2, (Store(y, (j,), Const(1.0, "float32")),), limit=i + 1)
    with pytest.raises(AccessError, match="limit 3 exceeds the extent 2"):
        interpret(_region(loop(i, 3, (inner,)), outputs=(y,)), {}, [])


def test_unwritten_memory_is_nan() -> None:
    y, t = flat_output("y", 2), Buffer("t", ints(2), "float32")
    body = (Alloc(t), Store(t, ints(0), Const(1.0, "float32")))
    moves = tuple(Store(y, ints(n), Load(t, ints(n))) for n in range(2))
    (found,) = interpret(_region(*body, *moves, outputs=(y,)), {}, [])
    assert found[0] == 1
    assert np.isnan(found[1])


def test_lanes_past_the_tail_are_not_touched() -> None:
    y, i = flat_output("y", 4), index("i")
    tail = Lane(i, as_int(4), as_int(3), as_int(0), Count(as_int(3)))
    (found,) = interpret(
        _region(Block((tail,), (Store(y, (i,), Const(1.0, "float32")),)), outputs=(y,)), {}, []
    )
    assert found[:3].tolist() == [1, 1, 1]
    assert np.isnan(found[3])


def test_statements_of_a_block_run_one_after_another_over_all_lanes() -> None:
    """Each lane reads its neighbour, written by the statement before: 3 2 1 0, not garbage."""
    y, t, i = flat_output("y", 4), Buffer("t", ints(4), "float32", "register"), index("i")
    block = Block((whole(i, 4),), (Store(t, (i,), Load(x := flat_input("x", 4), (i,))),))
    mirror = Block((whole(i, 4),), (Store(y, (i,), Load(t, (3 - i,))),))
    nest = Nest("n", (x,), (y,), (), (), (), (Region("r", (), (Alloc(t), block, mirror)),))
    (found,) = interpret(nest, {}, [np.arange(4, dtype=np.float32)])
    assert found.tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize("name", NESTS)
def test_trace_counts_statements_and_finds_no_overlap(name: str) -> None:
    example = NESTS[name]()
    trace = Trace()
    inputs = example.inputs(np.random.default_rng(3))
    interpret(example.nest, example.environment, inputs, observer=trace)
    assert trace.overlaps == []
    if name == "matmul":
        counts = {type(node).__name__: n for node, n in trace.executed.items()}
        assert counts["Reduce"] == 13 * 11 * 17
        assert counts["Copy"] == 17 * 16
        (tile_loop,) = [n for n in trace.executed if getattr(n, "var", None) is index("jo")]
        assert trace.executed[tile_loop] == 4 * 2
        assert trace.footprint[tile_loop, example.nest.inputs[0]] == 4 * 17


def test_overlapping_tasks_are_found() -> None:
    y, i = flat_output("y", 4), index("i")
    task = (Store(y, ints(0), Const(1.0, "float32")),)
    nest = Nest("n", (), (y,), (), (), (), (Region("r", (loop(i, 2, ()),), task),))
    trace = Trace()
    interpret(nest, {}, [], observer=trace)
    assert trace.overlaps == [("r", "y", 0)]


@pytest.mark.parametrize("name", ["shared_matmul", "shared_transpose"])
def test_shared_memory_without_barriers_is_a_race(name: str) -> None:
    example = GPU_NESTS[name]()
    inputs = example.inputs(np.random.default_rng(3))
    with pytest.raises(AccessError, match="no barrier between"):
        interpret(barriers_removed(example.nest), example.environment, inputs)
