"""Which operators share a kernel, with which key, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autosched.graph.execute import evaluating, run_plan
from autosched.graph.graph import Graph
from autosched.graph.partition.cut import partition
from autosched.graph.partition.plan import Partition
from autosched.graph.partition.policy import UNFUSED, FusionPolicy
from autosched.graph.passes.pipeline import simplify
from autosched.graph.reference import reference_outputs, reference_values
from tests.graph.graph_cases import imported, node, normal

IMAGE = {"x": [1, 3, 6, 6]}
FILTER = {"w": normal(4, 3, 3, 3), "b": normal(4)}


def cut(graph: Graph, **policy: Any) -> Partition:
    return partition(simplify(graph), FusionPolicy(**policy))


def kernels(part: Partition) -> list[str]:
    return ["+".join(n.removeprefix("n_") for n in call.nodes) for call in part.plan.calls]


def fusion(part: Partition, tensor: str) -> str:
    return next(e.fusion for e in part.edges if e.tensor == tensor)


def reason(part: Partition, tensor: str) -> str:
    return next(e.reason for e in part.edges if e.tensor == tensor)


CASES: dict[str, tuple[Graph, list[str]]] = {
    "epilogue": (
        imported(
            [
                node("Conv", "x w b", "c", pads=[1] * 4),
                node("Relu", "c", "r"),
                node("Clip", "r", "y"),
            ],
            IMAGE,
            FILTER,
        ),
        ["c+r+y"],
    ),
    "residual into the later convolution": (
        imported(
            [
                node("Conv", "x w b", "c", pads=[1] * 4),
                node("Conv", "x w", "d", pads=[1] * 4),
                node("Add", "c d", "s"),
                node("Relu", "s", "y"),
            ],
            IMAGE,
            FILTER,
        ),
        ["c", "d+s+y"],
    ),
    "a diamond of pointwise operators": (
        imported(
            [
                node("MatMul", "x w", "p"),
                node("Sigmoid", "p", "s"),
                node("Mul", "p s", "y"),
            ],
            {"x": [2, 3]},
            {"w": normal(3, 4)},
        ),
        ["p+s+y"],
    ),
    "a result that others read stays": (
        imported(
            [
                node("Conv", "x w", "c", pads=[1] * 4),
                node("Relu", "c", "r"),
                node("MaxPool", "c", "m", kernel_shape=[1, 1]),
                node("Add", "r m", "y"),
            ],
            IMAGE,
            FILTER,
        ),
        ["c", "r", "m+y"],
    ),
    "padding in front": (
        imported(
            [node("Pad", "x pads", "p"), node("Conv", "p w", "y")],
            IMAGE,
            {**FILTER, "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])},
        ),
        ["p+y"],
    ),
    "transpose in front": (
        imported(
            [node("Transpose", "z", "t", perm=[1, 0]), node("MatMul", "x t", "y")],
            {"x": [2, 3], "z": [4, 3]},
            {},
        ),
        ["t+y"],
    ),
    "arithmetic in front, computed once": (
        imported(
            [node("Mul", "x x", "m"), node("ReduceSum", "m a", "y")],
            {"x": [2, 3]},
            {"a": np.array([1])},
        ),
        ["m+y"],
    ),
    "arithmetic in front, computed often": (
        imported([node("Relu", "x", "r"), node("Conv", "r w", "y")], IMAGE, FILTER),
        ["r", "y"],
    ),
    "chain with broadcast": (
        imported(
            [node("Mul", "x k", "m"), node("Add", "m z", "a"), node("Exp", "a", "y")],
            {"x": [2, 3], "z": [2, 1]},
            {"k": normal(3)},
        ),
        ["m+a+y"],
    ),
    "views are no kernels": (
        imported(
            [
                node("Relu", "x", "r"),
                node("Flatten", "r", "f"),
                node("MatMul", "f w", "p"),
                node("Reshape", "p s", "y"),
            ],
            {"x": [2, 3, 1]},
            {"w": normal(3, 4), "s": np.array([4, 2])},
        ),
        ["r", "p"],
    ),
    "concat alone": (
        imported(
            [
                node("Relu", "x", "r"),
                node("Exp", "x", "e"),
                node("Concat", "r e", "k", axis=1),
                node("ReduceSum", "k a", "y"),
            ],
            {"x": [2, 3]},
            {"a": np.array([1])},
        ),
        ["r", "e", "k", "y"],
    ),
    "several results": (
        imported([node("Relu", "x", "y"), node("Exp", "y", "z")], {"x": [2, 3]}, {}, "y", "z"),
        ["y", "z"],
    ),
    "constant and empty results": (
        imported(
            [node("Exp", "c", "y"), node("Relu", "x", "z")],
            {"x": [0, 3]},
            {"c": normal(2)},
            "y",
            "z",
        ),
        [],
    ),
    "softmax with a scale behind": (
        imported(
            [node("Softmax", "x", "s", axis=-1), node("Mul", "s k", "y")],
            {"x": [2, 5]},
            {"k": normal(5)},
        ),
        ["s+y"],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("policy", [FusionPolicy(), FusionPolicy(max_operators=2), UNFUSED])
def test_plan_and_references_agree(name: str, policy: FusionPolicy) -> None:
    graph, _ = CASES[name]
    arrays = {n: normal(*graph.types[n].shape) for n in graph.inputs}
    expected = reference_values(graph, arrays)
    part = partition(simplify(graph), policy)
    actual = run_plan(part.plan, arrays, evaluating(part))
    for output in graph.outputs:
        assert actual[output].dtype == expected[output].dtype
        np.testing.assert_allclose(actual[output], expected[output], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_kernels(name: str) -> None:
    graph, expected = CASES[name]
    assert kernels(cut(graph)) == expected


@pytest.mark.parametrize("name", CASES)
def test_nothing_fused_under_the_unfused_policy(name: str) -> None:
    part = partition(simplify(CASES[name][0]), UNFUSED)
    assert all(len(call.nodes) == 1 for call in part.plan.calls)
    assert not [e for e in part.edges if e.fused and e.fusion != "view"]


@pytest.mark.parametrize("name", CASES)
def test_subgraphs_mean_their_workloads(name: str) -> None:
    part = cut(CASES[name][0])
    run = evaluating(part)
    for task in part.tasks:
        arrays = [normal(*task.subgraph.types[n].shape) for n in task.subgraph.inputs]
        expected = reference_outputs(task.subgraph, arrays)
        for a, b in zip(run(task.key, arrays), expected, strict=True):
            np.testing.assert_allclose(np.reshape(a, b.shape), b, rtol=1e-4, atol=1e-5)


def test_every_edge_is_explained() -> None:
    for name, (graph, _) in CASES.items():
        part = cut(graph)
        edges = {
            (n.name, t) for n in part.graph.nodes for t in n.reads if t in part.graph.producers
        }
        assert {(e.consumer, e.tensor) for e in part.edges} == edges, name
        assert all(e.reason for e in part.edges)


def test_reasons_say_what_stood_against() -> None:
    often = cut(CASES["arithmetic in front, computed often"][0])
    assert reason(often, "r").startswith("each element would be computed 1")
    stays = cut(CASES["a result that others read stays"][0])
    assert fusion(stays, "c") == "none"
    assert "more than one result" in reason(stays, "c")
    later = cut(CASES["residual into the later convolution"][0])
    assert "'d' is computed later" in reason(later, "c")
    assert fusion(later, "d") == "epilogue"


def test_saved_bytes_count_a_write_and_a_read() -> None:
    part = cut(CASES["epilogue"][0])
    assert [e.saved_bytes for e in part.edges] == [2 * 4 * 4 * 36] * 2


def test_weights_are_constant_operands_and_activations_are_not() -> None:
    (task,) = cut(CASES["epilogue"][0]).tasks
    assert [t.constant for t in task.workload.inputs] == [False, True, True]


def test_equal_workloads_are_one_task() -> None:
    nodes = [node("Conv", "x w", "a", pads=[1] * 4), node("Relu", "a", "r")]
    nodes += [node("Conv", "r v", "b", pads=[1] * 4), node("Relu", "b", "y")]
    constants = {"w": normal(3, 3, 3, 3), "v": normal(3, 3, 3, 3)}
    part = cut(imported(nodes, IMAGE, constants))
    (task,) = part.tasks
    assert task.weight == 2
    assert [c.inputs for c in part.plan.calls] == [("x", "w"), ("r", "v")]


def test_keys_do_not_depend_on_names_or_order() -> None:
    def keys(prefix: str, swap: bool) -> list[str]:
        nodes = [node("Relu", "x", f"{prefix}r"), node("Exp", "x", f"{prefix}e")]
        if swap:
            nodes.reverse()
        nodes.append(node("Concat", f"{prefix}r {prefix}e", "y", axis=0))
        return sorted(t.key for t in cut(imported(nodes, {"x": [2, 3]}, {})).tasks)

    assert keys("a", False) == keys("b", True)


def test_long_chains_are_cut_by_the_policy() -> None:
    nodes = [node("Relu", "x" if i == 0 else f"t{i}", f"t{i + 1}") for i in range(200)]
    part = cut(imported(nodes, {"x": [2]}, {}, "t200"), max_operators=50)
    assert [len(c.nodes) for c in part.plan.calls] == [50] * 4
