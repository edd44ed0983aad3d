"""Every pass keeps what a graph computes, does what its docstring shows, and leaves names alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autosched.graph.graph import Graph
from autosched.graph.passes.affine_folding import fold_affine
from autosched.graph.passes.batch_norm import lower_batch_norm
from autosched.graph.passes.common_subexpressions import merge_common_subexpressions
from autosched.graph.passes.constant_folding import fold_constants
from autosched.graph.passes.dead_code import remove_dead_code
from autosched.graph.passes.identities import remove_identities
from autosched.graph.passes.pipeline import PASSES, simplify
from autosched.graph.reference import reference_values
from tests.graph.graph_cases import imported, node, normal


def ops(graph: Graph) -> list[str]:
    return [n.op for n in graph.nodes]


def same(before: Graph, after: Graph) -> None:
    arrays = {name: normal(*before.types[name].shape) for name in before.inputs}
    expected, actual = reference_values(before, arrays), reference_values(after, arrays)
    assert before.outputs == after.outputs
    for name in before.outputs:
        np.testing.assert_allclose(actual[name], expected[name], rtol=1e-4, atol=1e-5)


NORM = {"s": normal(4), "b": normal(4), "m": normal(4), "v": abs(normal(4)) + 0.5}
FILTER = normal(4, 3, 3, 3)

CASES: dict[str, tuple[Graph, list[str]]] = {
    "conv and batch-norm": (
        imported(
            [
                node("Conv", "x w", "c", pads=[1, 1, 1, 1]),
                node("BatchNormalization", "c s b m v", "y"),
            ],
            {"x": [2, 3, 5, 5]},
            {"w": FILTER, **NORM},
        ),
        ["Conv"],
    ),
    "conv with bias, batch-norm, scale and shift": (
        imported(
            [
                node("Conv", "x w b0", "c"),
                node("BatchNormalization", "c s b m v", "n"),
                node("Mul", "k n", "k1"),
                node("Sub", "k1 t", "y"),
            ],
            {"x": [1, 3, 5, 5]},
            {"w": FILTER, "b0": normal(4), **NORM, "k": normal(4, 1, 1), "t": normal(1, 4, 1, 1)},
        ),
        ["Conv"],
    ),
    "gemm with transposed weights and beta": (
        imported(
            [
                node("Gemm", "x w c", "g", transB=1, beta=0.5, alpha=2.0),
                node("Div", "g k", "h"),
                node("Add", "h t", "y"),
            ],
            {"x": [2, 3]},
            {"w": normal(4, 3), "c": normal(1), "k": abs(normal(4)) + 1, "t": normal(4)},
        ),
        ["Gemm"],
    ),
    "matmul takes a factor and keeps a bias outside": (
        imported(
            [node("MatMul", "x w", "p"), node("Mul", "p k", "q"), node("Add", "q t", "y")],
            {"x": [2, 5, 3]},
            {"w": normal(3, 4), "k": normal(4), "t": normal(4)},
        ),
        ["MatMul", "Add"],
    ),
    "batch-norm after nothing linear": (
        imported(
            [node("Relu", "x", "r"), node("BatchNormalization", "r s b m v", "y")],
            {"x": [2, 4, 3]},
            NORM,
        ),
        ["Relu", "Mul", "Add"],
    ),
    "a factor that differs within a channel stays": (
        imported(
            [node("Conv", "x w", "c"), node("Mul", "c k", "y")],
            {"x": [1, 3, 5, 5]},
            {"w": FILTER, "k": normal(1, 4, 3, 3)},
        ),
        ["Conv", "Mul"],
    ),
    "a shared convolution stays": (
        imported(
            [node("Conv", "x w", "c"), node("Mul", "c k", "m"), node("Add", "c m", "y")],
            {"x": [1, 3, 5, 5]},
            {"w": FILTER, "k": normal(4, 1, 1)},
        ),
        ["Conv", "Mul", "Add"],
    ),
    "a factor that broadcasts the result stays": (
        imported(
            [node("Conv", "x w", "c"), node("Mul", "c k", "y")],
            {"x": [1, 3, 3, 3]},
            {"w": FILTER, "k": normal(2, 4, 1, 1)},
        ),
        ["Conv", "Mul"],
    ),
    "identities": (
        imported(
            [
                node("Identity", "x", "a"),
                node("Transpose", "a", "b", perm=[0, 1]),
                node("Relu", "b", "c"),
                node("Identity", "c", "y"),
            ],
            {"x": [2, 3]},
            {},
        ),
        ["Relu"],
    ),
    "an input returned": (imported([node("Identity", "x", "y")], {"x": [2]}, {}), ["Identity"]),
    "common subexpressions": (
        imported(
            [node("Relu", "x", "a"), node("Relu", "x", "b"), node("Add", "a b", "y")],
            {"x": [2, 3]},
            {},
        ),
        ["Relu", "Add"],
    ),
    "dead code": (
        imported([node("Relu", "x", "y"), node("Exp", "x", "z")], {"x": [2, 3]}, {}),
        ["Relu"],
    ),
    "constants": (
        imported([node("Exp", "c", "e"), node("Add", "x e", "y")], {"x": [2, 3]}, {"c": normal(3)}),
        ["Add"],
    ),
    "empty tensors": (
        imported(
            [node("MatMul", "x z", "p"), node("Add", "p c", "y")],
            {"x": [2, 0], "z": [0, 3]},
            {"c": normal(3)},
        ),
        [],
    ),
}


def plain(rewrite: Any) -> Any:
    """The pass without its limits."""
    return getattr(rewrite, "func", rewrite)


@pytest.mark.parametrize("name", CASES)
def test_the_passes_simplify_and_keep_the_meaning(name: str) -> None:
    before, expected = CASES[name]
    after = simplify(before)
    assert ops(after) == expected
    same(before, after)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rewrite", PASSES[1:], ids=lambda p: plain(p).__name__)
def test_each_pass_alone_keeps_the_meaning(name: str, rewrite: Any) -> None:
    before, _ = CASES[name]
    same(before, rewrite(before))


def test_pass_table_has_every_pass() -> None:
    assert {plain(p) for p in PASSES} == {
        remove_dead_code,
        remove_identities,
        fold_constants,
        lower_batch_norm,
        fold_affine,
        merge_common_subexpressions,
    }


def test_dead_code_forgets_what_nobody_needs() -> None:
    graph = simplify(CASES["conv and batch-norm"][0])
    assert set(graph.constants) == {"y/weight", "y/bias"} or len(graph.constants) == 2
    assert graph.types.keys() >= {"x", "y"}
    assert "c" not in graph.types
