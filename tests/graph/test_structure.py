"""Drafts that break a rule are refused with the object, the value and the rule."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.errors import InvalidInput
from autosched.graph.graph import Draft, Node, TensorType
from autosched.graph.limits import DEFAULT_LIMITS, ImportLimits, check_size
from autosched.graph.structure import check_structure

X = {"x": TensorType((2, 3), "float32")}


def relu(read: str, made: str) -> Node:
    return Node(made, "Relu", (read,), (made,))


def draft(*nodes: Node, outputs: tuple[str, ...] = ("y",)) -> Draft:
    return Draft(X, outputs, nodes, {"c": np.zeros(3, np.float32)})


def test_nodes_are_ordered_producers_first_and_else_as_given() -> None:
    nodes = (relu("a", "y"), relu("x", "a"), relu("x", "b"))
    assert [n.name for n in check_structure(draft(*nodes), DEFAULT_LIMITS)] == ["a", "y", "b"]


def test_deep_chains_are_ordered_without_recursion() -> None:
    chain = [relu("x" if i == 0 else f"t{i}", f"t{i + 1}") for i in range(20_000)]
    ordered = check_structure(draft(*reversed(chain), outputs=("t20000",)), DEFAULT_LIMITS)
    assert list(ordered) == chain


BROKEN = {
    "cyclic": (draft(relu("b", "a"), relu("a", "b"), relu("a", "y")), ["cyclic", "'a'", "'b'"]),
    "self loop": (draft(relu("y", "y")), ["cyclic", "'y' (Relu), which reads node 'y' (Relu)"]),
    "dangling input": (draft(relu("nowhere", "y")), ["'nowhere'", "disconnected", "'y' (Relu)"]),
    "dangling output": (draft(relu("x", "z")), ["graph output 'y'", "disconnected"]),
    "two producers": (draft(relu("x", "y"), relu("c", "y")), ["'y'", "one producer"]),
    "overwritten input": (draft(relu("x", "x")), ["'x'", "a graph input"]),
    "no outputs": (draft(relu("x", "y"), outputs=()), ["no outputs"]),
    "repeated outputs": (draft(relu("x", "y"), outputs=("y", "y")), ["repeat"]),
    "island": (
        Draft({**X, "z": X["x"]}, ("y",), (relu("x", "y"), relu("z", "w")), {}),
        ["'w' (Relu)", "disconnected"],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_draft_is_refused_by_name(name: str) -> None:
    broken, words = BROKEN[name]
    with pytest.raises(InvalidInput) as caught:
        check_structure(broken, DEFAULT_LIMITS)
    for word in words:
        assert word in str(caught.value)


def test_a_dead_branch_of_a_used_input_is_no_island() -> None:
    assert len(check_structure(draft(relu("x", "y"), relu("x", "w")), DEFAULT_LIMITS)) == 2


def test_too_many_nodes() -> None:
    with pytest.raises(InvalidInput, match="2 nodes: at most 1"):
        check_structure(draft(relu("x", "y"), relu("x", "w")), ImportLimits(nodes=1))


@pytest.mark.parametrize(
    ("shape", "rule"),
    [
        ((1 << 40, 1 << 40), "memory"),
        ((1 << 63, 1), "2\\*\\*63"),
        ((0, 1 << 62, 1 << 62), "sizes other than 0"),
        ((-1, 2), "-1"),
        ((1,) * 17, "17"),
    ],
)
def test_absurd_sizes(shape: tuple[int, ...], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        check_size("t", TensorType(shape, "float32"), DEFAULT_LIMITS)


def test_zero_sizes_are_accepted() -> None:
    check_size("t", TensorType((0, 1 << 40), "float32"), DEFAULT_LIMITS)
