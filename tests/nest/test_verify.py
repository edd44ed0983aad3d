"""Sound nests keep every rule; each rule has a nest that breaks it alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autosched.nest.nodes import (
    Alloc,
    Barrier,
    Block,
    Body,
    Bound,
    Buffer,
    Copy,
    Count,
    Fold,
    Guard,
    Lane,
    Nest,
    Node,
    Reduce,
    Region,
    Store,
)
from autosched.nest.rules import RULES
from autosched.nest.verify import Violation, verify
from autosched.te.combiner import COMBINERS
from autosched.te.expr import Const, Expr, Index, Load, Select, cast, condition
from autosched.te.integer import as_int, less
from autosched.testing.gpu_nests import GPU_NESTS
from autosched.testing.nests import (
    NESTS,
    axis,
    decision,
    flat_input,
    flat_output,
    index,
    ints,
    loop,
    whole,
)

EXAMPLES = {**NESTS, **GPU_NESTS}
ONE = Const(1.0, "float32")
U, V, T = index("i"), index("j"), index("t")
X, Y = flat_input("x", 8), flat_output("y", 8)
TILE = Buffer("tile", ints(8), "float32")
SHARED = Buffer("shared", ints(8), "float32", "shared")
PART = Buffer("part", ints(8), "float32", "register", thread_axes=1)


def nest_of(*body: Node, tasks: int = 1) -> Nest:
    loops = (loop(index("task"), tasks, ()),)
    return Nest("n", (X,), (Y,), (), (), (), (Region("r", loops, body),))


def _copied(n: int, low: int, high: int) -> Copy:
    bound = Bound(as_int(0), U + low, as_int(high))
    return Copy(TILE, (axis(U, n),), (U,), Load(X, (U + low,)), (bound,))


def _threads(*body: Node, limit: int = 8) -> Node:
    return loop(T, 8, body, kind="thread.x", limit=as_int(limit))


def _fold(over: str = "block") -> Fold:
    return Fold(COMBINERS["sum"], (PART,), (T,), (PART,), (V,), V, as_int(8), over)  # type: ignore[arg-type]


def _lane_value() -> Expr:
    return cast("float32", Index(U))


BROKEN: dict[str, Callable[[], Body]] = {
    "symbols are bound": lambda: (Store(Y, (V,), ONE),),
    "variables are new": lambda: (loop(U, 2, (loop(U, 2, (Store(Y, (U,), ONE),)),)),),
    "numbers are static": lambda: (
        loop(U, 4, (Block((whole(V, U + 1),), (Store(Y, (V,), ONE),)),)),
    ),
    "lanes do not steer": lambda: (
        Block((whole(U, 4),), (loop(V, 4, (Store(Y, (V,), ONE),), limit=U + 1),)),
    ),
    "limits stay within extents": lambda: (loop(U, 4, (Store(Y, (U,), ONE),), limit=as_int(5)),),
    "buffers are live": lambda: (Store(TILE, (as_int(0),), ONE),),
    "writes are allowed": lambda: (Store(X, (as_int(0),), ONE),),
    "accesses are inside": lambda: (loop(U, 8, (Store(Y, (U,), Load(X, (U + 1,))),)),),
    "lanes store apart": lambda: (Block((whole(U, 4),), (Store(Y, ints(0), _lane_value()),)),),
    "threads meet": lambda: (_threads(Store(Y, (T,), ONE), Barrier()),),
    "shared memory has one writer": lambda: (Alloc(SHARED), Store(SHARED, ints(0), ONE)),
}


def rules(violations: tuple[Violation, ...]) -> list[str]:
    return [v.rule for v in violations]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_keep_every_rule(name: str) -> None:
    example = EXAMPLES[name]()
    assert [str(v) for v in verify(example.nest, example.environment)] == []


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_broken_alone(rule: str) -> None:
    assert rules(verify(nest_of(*BROKEN[rule]()), {})) == [rule]


def test_message_names_statement_buffer_and_index() -> None:
    (violation,) = verify(nest_of(*BROKEN["accesses are inside"]()), {})
    text = "accesses are inside in r/i Store: x: index 8 in dimension 0 of extent 8"
    assert str(violation) == text


def test_tasks_that_write_one_element_are_found() -> None:
    found = verify(nest_of(Store(Y, ints(0), ONE), tasks=2), {})
    assert rules(found) == ["tasks are apart"]


def test_a_task_reading_what_another_writes_is_found() -> None:
    task = index("task")
    body = (
        Store(Y, (task,), ONE),
        Reduce(COMBINERS["sum"], (Y,), (task,), (Load(Y, (7 - task,)),)),
    )
    assert rules(verify(nest_of(*body, tasks=8), {})) == ["tasks are apart"]


def test_bounds_of_a_copy_keep_its_loads_inside() -> None:
    assert verify(nest_of(Alloc(TILE), _copied(8, low=-3, high=8)), {}) == ()
    found = verify(nest_of(Alloc(TILE), _copied(8, low=3, high=9)), {})
    assert rules(found) == ["accesses are inside"]


def test_the_side_of_a_select_not_taken_is_not_read() -> None:
    value = Select(condition(less(U, 7)), Load(X, (U + 1,)), ONE)
    assert verify(nest_of(loop(U, 8, (Store(Y, (U,), value),))), {}) == ()


def test_tails_are_exact() -> None:
    """Eight elements in lanes of three: the last block has two."""
    tile = decision("r")

    def found(tail: int) -> list[str]:
        lane = Lane(V, tile, as_int(tail), less(U, 2), Count(as_int(8), as_int(3)))
        body = loop(U, 3, (Block((lane,), (Store(Y, (U * tile + V,), ONE),)),))
        return rules(verify(nest_of(body), {tile: 3}))

    assert found(tail=2) == []
    assert found(tail=3) == ["accesses are inside"]


@pytest.mark.parametrize(
    "body",
    [
        (Alloc(PART), _threads(_fold(), limit=7)),
        (Alloc(PART), _threads(Guard(less(T, 4), (_fold(),)))),
    ],
)
def test_folds_over_threads_need_them_all(body: Body) -> None:
    assert rules(verify(nest_of(*body), {})) == ["threads meet"]
    assert verify(nest_of(Alloc(PART), _threads(_fold())), {}) == ()


def test_buffers_end_with_the_body_that_allocates_them() -> None:
    inner = loop(U, 2, (Alloc(TILE), Store(TILE, (U,), ONE)))
    found = verify(nest_of(inner, Store(TILE, ints(0), ONE)), {})
    assert rules(found) == ["buffers are live"]
