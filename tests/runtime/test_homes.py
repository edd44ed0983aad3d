"""Joined tensors: parts stand inside of them, and what cannot stand so is still joined by its kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from autosched.entry.build import build_chosen
from autosched.entry.machine import set_up
from autosched.entry.winners import defaults
from autosched.entry.work import work_of
from autosched.graph.graph import TensorType
from autosched.graph.importers.onnx import import_onnx
from autosched.graph.partition.cut import partition
from autosched.graph.partition.plan import Call, Plan
from autosched.runtime.directory import load_directory
from autosched.runtime.homes import Home, find_homes
from tests.graph.graph_cases import imported, node
from tests.graph.models import model_bytes

FLOATS = {"a": 3, "b": 5, "c": 2, "k": 8, "l": 10, "x": 4, "m": 14}


def plan_of(*calls: Call, views: dict[str, str] | None = None) -> Plan:
    types = {n: TensorType((1, size), "float32") for n, size in FLOATS.items()}
    types |= {v: types[root] for v, root in (views or {}).items()}
    return Plan(("x",), (), calls, views or {}, types, {})


def makes(output: str, *inputs: str) -> Call:
    return Call("key", inputs, (output,), ())


def joins(output: str, *parts: str) -> Call:
    return Call("key", parts, (output,), (), parts)


A, B, C = makes("a", "x"), makes("b", "a"), makes("c", "x")
K, L = joins("k", "a", "b"), joins("l", "k", "c")


def test_parts_stand_one_after_another_through_all_joins() -> None:
    plan = plan_of(A, B, K, C, L)
    homes = find_homes(plan, plan.calls, {"x"})
    assert homes.calls == (A, B, C)
    assert homes.of("a") == Home("l", 0)
    assert homes.of("b") == Home("l", 4 * 3)
    assert homes.of("c") == Home("l", 4 * 8)
    assert homes.of("l") == Home("l")


@pytest.mark.parametrize(
    ("calls", "left"),
    [
        ((A, B, joins("k", "a", "a")), 3),  # one part twice
        ((A, makes("m", "a"), joins("k", "x", "a")), 3),  # a part that is handed in
        ((A, B, C, K, joins("l", "b", "c", "a")), 4),  # parts that a later join has
    ],
)
def test_a_join_whose_parts_are_not_its_own_stays(calls: tuple[Call, ...], left: int) -> None:
    plan = plan_of(*calls)
    assert len(find_homes(plan, plan.calls, {"x"}).calls) == left


def test_a_join_of_what_a_later_one_holds_side_by_side_is_inside_of_it() -> None:
    plan = plan_of(A, B, K, C, joins("l", "a", "b", "c"))
    homes = find_homes(plan, plan.calls, {"x"})
    assert homes.calls == (A, B, C)
    assert homes.of("k") == homes.of("a") == Home("l")
    assert find_homes(plan, plan.calls, {"x", "k"}).calls == (A, B, K, C)


def test_a_view_is_joined_by_its_root() -> None:
    plan = plan_of(A, B, joins("k", "v", "b"), views={"v": "a"})
    assert find_homes(plan, plan.calls, {"x"}).of("a") == Home("k", 0)


@pytest.mark.parametrize(
    ("shape", "axis", "parts"),
    [
        ((1, 3, 4), 1, ("p", "q")),
        ((2, 3, 4), 0, ("p", "q")),
        ((2, 3, 4), 1, ()),
        ((1, 3, 4), -1, ()),
    ],
)
def test_a_concatenation_joins_where_nothing_but_ones_stands_before_its_axis(
    shape: tuple[int, ...], axis: int, parts: tuple[str, ...]
) -> None:
    nodes = [
        node("Softmax", "x", "p"),
        node("Softmax", "x", "q", axis=1),
        node("Concat", "p q", "y", axis=axis),
    ]
    calls = partition(imported(nodes, {"x": shape}, {})).plan.calls
    assert calls[-1].outputs == ("y",)
    assert calls[-1].joins == parts


def test_a_model_with_nested_joins_gives_what_the_reference_gives(tmp_path: Path) -> None:
    """Odd sizes, parts read by others too, a join that is an output, one that holds an input."""
    shape = (1, 3, 5, 5)
    rng = np.random.default_rng(2)
    weights = {
        "u": rng.standard_normal((3, 3, 3, 3)).astype(np.float32),
        "v": rng.standard_normal((5, 3, 1, 1)).astype(np.float32),
        "w": rng.standard_normal((2, 8, 3, 3)).astype(np.float32),
        "z": rng.standard_normal((4, 2, 1, 1)).astype(np.float32),
    }
    nodes = [
        node("Conv", "x u", "a", pads=[1] * 4),
        node("Conv", "a v", "b"),
        node("Concat", "a b", "k", axis=1),
        node("Conv", "k w", "c", pads=[1] * 4),
        node("Concat", "k c", "y", axis=1),
        node("Concat", "a b c", "i", axis=1),
        node("MaxPool", "i", "t", kernel_shape=[3, 3]),
        node("Conv", "c z", "d"),
        node("Concat", "d x", "e", axis=1),
    ]
    outputs = ("y", "e", "d", "t")
    data = model_bytes(nodes, {"x": shape}, outputs, weights)
    work, setup = work_of(import_onnx(data)), set_up()
    assert [c.joins for c in work.plan.calls].count(()) == 5
    build_chosen(work, defaults(work, setup.target), setup, tmp_path / "built")
    module = load_directory(tmp_path / "built")
    evaluator = ReferenceEvaluator(onnx.load_from_string(data))
    for _ in range(2):
        x = rng.standard_normal(shape).astype(np.float32)
        got = module(x)
        for name, wanted in zip(outputs, evaluator.run(None, {"x": x}), strict=True):
            np.testing.assert_allclose(got[name], wanted, rtol=1e-4, atol=1e-4, err_msg=name)
