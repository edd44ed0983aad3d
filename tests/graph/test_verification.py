"""Whole models verified; a channel swap, a dropped tap and wrong padding in any kernel must each be caught."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from autosched.errors import InvalidInput
from autosched.graph.execute import Run, by_calls, evaluating
from autosched.graph.importers.json import export_json, import_json
from autosched.graph.importers.onnx import import_onnx
from autosched.graph.partition.cut import partition
from autosched.graph.partition.plan import GraphTask, Partition
from autosched.graph.passes.pipeline import simplify
from autosched.graph.source import ModelSource, load_source
from autosched.graph.verification.expected import read_data_set, shipped_tensors
from autosched.graph.verification.random_weights import is_constant_filled, random_weights
from autosched.graph.verification.report import relative_error
from autosched.graph.verification.verify import (
    elementwise_error,
    verify_expected,
    verify_graph_random_weights,
    verify_random_weights,
)
from tests.graph.graph_cases import node
from tests.graph.models import model_bytes

Array = Any


def small_model() -> onnx.ModelProto:
    """Two convolutions (one behind the other's pooling), batch-norm, residual and an old softmax; equal weights."""

    def filled(name: str, *shape: int) -> onnx.NodeProto:
        tensor = numpy_helper.from_array(np.array([0.02], np.float32))
        return helper.make_node("ConstantOfShape", [f"{name}_shape"], [name], value=tensor)

    shapes = {"w": (4, 3, 3, 3), "v": (4, 4, 3, 3), "g": (10, 4 * 16)}
    norm = {n: np.full(4, v, np.float32) for n, v in zip("sbmu", (1, 0, 0, 1), strict=True)}
    nodes = [
        *(filled(name, *shape) for name, shape in shapes.items()),
        node("Conv", "x w", "c", pads=[1] * 4),
        node("BatchNormalization", "c s b m u", "n"),
        node("Relu", "n", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "p v", "d", pads=[1] * 4),
        node("Add", "d p", "a"),
        node("Relu", "a", "e"),
        node("Flatten", "e", "f"),
        node("Gemm", "f g", "h", transB=1),
        node("Softmax", "h", "y"),
    ]
    constants = {f"{n}_shape": np.array(s) for n, s in shapes.items()} | norm
    return onnx.load_from_string(model_bytes(nodes, {"x": [1, 3, 8, 8]}, ["y"], constants, 9))


def cut(model: onnx.ModelProto) -> Partition:
    return partition(simplify(import_onnx(model.SerializeToString())))


MODEL = small_model()
PART = cut(MODEL)
RUN = evaluating(PART)
CONVOLUTIONS = [t for t in PART.tasks if "Conv" in t.name]


def swapped_channels(task: GraphTask, arrays: list[Array], run: Run) -> Sequence[Array]:
    """Output channels 0 and 1 change places."""
    (result,) = run(task.key, arrays)
    shape = task.subgraph.types[task.subgraph.outputs[0]].shape
    result = np.array(result).reshape(shape)
    result[:, [0, 1]] = result[:, [1, 0]]
    return (result,)


def dropped_tap(task: GraphTask, arrays: list[Array], run: Run) -> Sequence[Array]:
    """The last tap of every filter is left out."""
    weight = next(
        i
        for i, n in enumerate(task.subgraph.inputs)
        if len(task.subgraph.types[n].shape) == 4 and i
    )
    changed = np.array(arrays[weight])
    changed[..., -1, -1] = 0
    return run(task.key, [*arrays[:weight], changed, *arrays[weight + 1 :]])


def wrong_padding(task: GraphTask, arrays: list[Array], run: Run) -> Sequence[Array]:
    """The last column is read as if it were padding."""
    image = np.array(arrays[0])
    image[..., -1] = 0
    return run(task.key, [image, *arrays[1:]])


FAULTS: list[Callable[[GraphTask, list[Array], Run], Sequence[Array]]] = [
    swapped_channels,
    dropped_tap,
    wrong_padding,
]


def planted(task: GraphTask, fault: Callable[..., Sequence[Array]]) -> Run:
    """Right kernels but one."""

    def run(key: str, arrays: Sequence[Array]) -> Sequence[Array]:
        return fault(task, list(arrays), RUN) if key == task.key else RUN(key, arrays)

    return run


@pytest.mark.parametrize("seed", range(3))
def test_right_kernels_pass_with_random_weights(seed: int) -> None:
    report = verify_random_weights(MODEL, seed, RUN)
    assert report.passed, report.worst
    kinds = [c.kind for c in report.comparisons]
    assert kinds == ["workload"] * len(PART.plan.calls) + ["logits", "output"]
    assert report.worst.error < 1e-5


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("task", CONVOLUTIONS, ids=lambda t: t.name)
def test_a_planted_fault_is_found_and_named(task: GraphTask, fault: Any) -> None:
    report = verify_random_weights(MODEL, 0, planted(task, fault))
    failed = {c.kind: c for c in report.failures}
    assert {"workload", "logits", "output"} <= failed.keys()
    assert {c.workload_key for c in report.failures if c.kind == "workload"} == {task.key}


def test_equal_weights_hide_what_random_ones_show() -> None:
    """Why random weights are needed: with equal ones a swap of channels changes nothing."""
    values = {n: np.ones(PART.graph.types[n].shape, np.float32) for n in PART.graph.inputs}
    task = CONVOLUTIONS[0]
    constants = [PART.plan.constants[n] for n in PART.plan.calls[0].inputs[1:]]
    arrays = [values["x"], *constants]
    np.testing.assert_array_equal(
        np.ravel(swapped_channels(task, arrays, RUN)[0]), np.ravel(RUN(task.key, arrays)[0])
    )


def test_a_graph_without_onnx_is_verified_too() -> None:
    graph = import_json(export_json(import_onnx(MODEL.SerializeToString())))
    assert verify_graph_random_weights(graph, 0, RUN).passed
    assert not verify_graph_random_weights(graph, 0, planted(CONVOLUTIONS[0], dropped_tap)).passed


def test_weights_are_drawn_for_their_role() -> None:
    graph = import_onnx(MODEL.SerializeToString())
    weights = random_weights(graph, np.random.default_rng(0))
    assert set(weights) == {"w", "v", "g", *"sbmu"}
    assert np.std(weights["v"]) == pytest.approx(np.sqrt(2 / 36), rel=0.2)
    assert np.std(weights["g"]) == pytest.approx(np.sqrt(2 / 64), rel=0.2)
    assert weights["u"].min() >= 0.5
    assert weights["u"].max() <= 1.5
    assert {a.dtype for a in weights.values()} == {np.dtype(np.float32)}
    again = random_weights(graph, np.random.default_rng(0))
    assert all(np.array_equal(again[n], a) for n, a in weights.items())


def test_what_counts_as_constant_filled() -> None:
    assert is_constant_filled(np.full((2, 3), 0.02, np.float32))
    assert not is_constant_filled(np.arange(3, dtype=np.float32))
    assert not is_constant_filled(np.full(1, 0.02, np.float32))
    assert not is_constant_filled(np.full(4, 2, np.int64))


@pytest.mark.parametrize("name", ["light_squeezenet"])
def test_a_shipped_model_gives_its_shipped_output(name: str) -> None:
    source = load_source(f"onnx:{name}")
    assert isinstance(source, ModelSource)
    part = partition(simplify(source.graph))
    expected = shipped_tensors(source.graph, source.shipped_outputs)
    report = verify_expected(part, expected, by_calls(evaluating(part, None)))
    assert report.passed, report.worst


def test_a_data_set_is_read_and_compared(tmp_path: Any) -> None:
    data = numpy_helper.from_array(np.ones((1, 3, 8, 8), np.float32)).SerializeToString()
    wrong = numpy_helper.from_array(np.zeros((1, 10), np.float32)).SerializeToString()
    (tmp_path / "input_0.pb").write_bytes(data)
    with pytest.raises(InvalidInput, match="1 outputs, the data holds 0"):
        read_data_set(tmp_path, PART.graph)
    (tmp_path / "output_0.pb").write_bytes(wrong)
    expected = read_data_set(tmp_path, PART.graph)
    assert not verify_expected(PART, expected, by_calls(RUN)).passed
    with pytest.raises(InvalidInput, match="no directory"):
        read_data_set(tmp_path / "nothing", PART.graph)


@pytest.mark.parametrize(
    ("actual", "expected", "error"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.5], [1.0, 2.0], 0.25),
        ([0.0], [0.0], 0.0),
        ([1e-9], [0.0], np.inf),
        ([np.nan], [1.0], np.inf),
        ([np.inf], [1.0], np.inf),
        ([np.nan, 1.0], [np.nan, 1.0], 0.0),
        ([1.0], [1.0, 1.0], np.inf),
        ([], [1.0], np.inf),
        ([], [], 0.0),
        ([1.0, np.inf], [2.0, -np.inf], np.inf),
        ([1.0, -np.inf], [2.0, -np.inf], 0.5),
    ],
)
def test_relative_error(actual: list[float], expected: list[float], error: float) -> None:
    assert relative_error(np.array(actual), np.array(expected)) == error


@pytest.mark.parametrize("actual", [[np.nan], [-np.inf], [1.0], [], [np.inf, 1.0]])
def test_infinity_is_expected_to_be_that_infinity(actual: list[float]) -> None:
    assert elementwise_error(np.array([np.inf]), np.array([np.inf])) == 0.0
    assert elementwise_error(np.array(actual), np.array([np.inf])) == np.inf
