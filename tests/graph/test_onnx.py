"""ONNX bytes: real models, and files that are truncated, hostile or ask for what we do not read."""

from __future__ import annotations

import contextlib
from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from autosched.errors import InvalidInput
from autosched.graph.importers.onnx import import_onnx
from autosched.graph.limits import ImportLimits
from autosched.graph.partition.cut import partition
from autosched.graph.passes.constant_folding import fold_constants
from autosched.graph.source import ModelSource, load_source, onnx_model_names
from tests.graph.models import model_bytes

RELU = helper.make_node("Relu", ["x"], ["y"], name="r")


def refused(data: bytes, *words: str, limits: ImportLimits | None = None) -> None:
    with pytest.raises(InvalidInput) as caught:
        import_onnx(data, limits=limits or ImportLimits())
    for word in words:
        assert word in str(caught.value)


def test_squeezenet_is_read() -> None:
    source = load_source("onnx:light_squeezenet")
    assert isinstance(source, ModelSource)
    graph = source.graph
    assert graph.inputs == ("data_0",)
    assert graph.outputs == ("softmaxout_1",)
    assert Counter(n.op for n in graph.nodes)["Conv"] == 26
    assert str(graph.types["softmaxout_1"]) == "float32[1, 1000, 1, 1]"
    assert graph.constants["conv1_w_0"].shape == (64, 3, 3, 3)
    assert source.shipped_outputs


@pytest.mark.parametrize("name", onnx_model_names())
def test_shipped_models_are_read(name: str) -> None:
    source = load_source(f"onnx:{name}")
    assert isinstance(source, ModelSource)
    assert set(source.graph.outputs) <= source.graph.types.keys()


@pytest.mark.parametrize("length", [1, 100, 4000, 15_000])
def test_truncated_files(length: int) -> None:
    source = load_source("onnx:light_squeezenet")
    assert isinstance(source, ModelSource)
    with pytest.raises(InvalidInput):
        import_onnx(source.data[:length])


def test_empty_file() -> None:
    refused(b"", "no ONNX graph")


def test_random_bytes_never_crash() -> None:
    rng = np.random.default_rng(7)
    good = np.frombuffer(model_bytes([RELU], {"x": [2, 3]}, ["y"]), np.uint8)
    for _ in range(300):
        damaged = good.copy()
        damaged[rng.integers(0, len(good), 3)] = rng.integers(0, 256, 3)
        with contextlib.suppress(InvalidInput):
            import_onnx(damaged.tobytes())


def test_dynamic_dimensions_are_asked_for() -> None:
    data = model_bytes([RELU], {"x": ["batch", 3]}, ["y"])
    refused(data, "'x'", "'batch'", "dimension 0", "number")
    assert import_onnx(data, shapes={"x": (4, 3)}).types["y"].shape == (4, 3)


def test_unknown_operators_are_listed_at_once() -> None:
    nodes = [
        helper.make_node("Swirl", ["x"], ["a"], name="s"),
        helper.make_node("Relu", ["a"], ["b"], name="r"),
        helper.make_node("Twist", ["b", "x"], ["y"], name="t", domain="custom"),
    ]
    refused(
        model_bytes(nodes, {"x": [2, 3]}, ["y"]),
        "2 nodes",
        "Swirl (ai.onnx, version 17) at node 's': reads x float32[2, 3]",
        "Twist (custom, version 3) at node 't': reads b of unknown shape, x float32[2, 3]",
    )


def test_shape_mismatch_names_the_node() -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="m")
    data = model_bytes([node], {"x": [2, 3]}, ["y"], {"w": np.zeros((4, 5), np.float32)})
    refused(data, "'m' (MatMul)")


def test_external_data_is_refused() -> None:
    model = onnx.load_from_string(
        model_bytes([RELU], {"x": [2]}, ["y"], {"w": np.zeros(2, np.float32)})
    )
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "/etc/passwd"
    refused(model.SerializeToString(), "'w'", "external data")


def test_initializers_must_fill_their_shape() -> None:
    model = onnx.load_from_string(
        model_bytes([RELU], {"x": [2]}, ["y"], {"w": np.zeros(2, np.float32)})
    )
    model.graph.initializer[0].dims[0] = 1 << 30
    refused(model.SerializeToString(), "'w'", "holds 8 bytes")
    model.graph.initializer[0].dims[0] = 1 << 50
    refused(model.SerializeToString(), "'w'", "memory")


def test_folding_bombs_are_refused_before_they_take_memory() -> None:
    shape = np.array([1 << 18, 1 << 20], np.int64)
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["big"]),
        helper.make_node("Add", ["x", "big"], ["y"]),
    ]
    refused(model_bytes(nodes, {"x": [1]}, ["y"], {"shape": shape}), "'big'", "memory")


def test_a_chain_of_folded_constants_is_limited_in_bytes() -> None:
    shape = np.array([1 << 20], np.int64)
    nodes = [helper.make_node("ConstantOfShape", ["shape"], ["c0"])]
    nodes += [helper.make_node("Neg", [f"c{i}"], [f"c{i + 1}"], name=f"n{i}") for i in range(5)]
    nodes.append(helper.make_node("Add", ["x", "c5"], ["y"]))
    graph = import_onnx(model_bytes(nodes, {"x": [1]}, ["y"], {"shape": shape}))
    assert [n.op for n in fold_constants(graph).nodes] == ["Add"]
    with pytest.raises(InvalidInput, match=r"n2.*bytes"):
        fold_constants(graph, limits=ImportLimits(folded_bytes=3 * (1 << 22) - 1))


def test_windows_without_end_are_refused_not_computed() -> None:
    pool = {"kernel_shape": [1 << 60, 2], "auto_pad": "SAME_UPPER"}
    nodes = [helper.make_node("MaxPool", ["c"], ["p"], name="pool", **pool)]
    nodes.append(helper.make_node("Add", ["x", "p"], ["y"]))
    constant = {"c": np.ones((1, 1, 4, 4), np.float32)}
    refused(model_bytes(nodes, {"x": [1]}, ["y"], constant), "'pool' (MaxPool)", "evaluations")
    graph = import_onnx(model_bytes(nodes, {"x": [1], "c": [1, 1, 4, 4]}, ["y"]))
    with pytest.raises(InvalidInput, match=r"pool.*evaluations"):
        partition(graph)


def test_shapes_computed_from_shapes() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Slice", ["s", "zero", "one"], ["batch"]),
        helper.make_node("Concat", ["batch", "minus"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    constants = {"zero": np.array([0]), "one": np.array([1]), "minus": np.array([-1])}
    graph = import_onnx(model_bytes(nodes, {"x": [2, 3, 4]}, ["y"], constants))
    assert [n.op for n in graph.nodes] == ["Reshape"]
    assert graph.types["y"].shape == (2, 12)


@pytest.mark.parametrize("limit", [np.nan, np.inf])
def test_a_range_without_end_is_refused(limit: float) -> None:
    bounds = {n: np.float32(v) for n, v in (("start", 0), ("limit", limit), ("delta", 1))}
    node = helper.make_node("Range", list(bounds), ["y"], name="r")
    refused(model_bytes([node], {}, ["y"], bounds), "'r' (Range)", "no finite length")


def test_a_shape_computed_from_data_is_refused() -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["shape"], to=TensorProto.INT64),
        helper.make_node("Reshape", ["x", "shape"], ["y"], name="r"),
    ]
    refused(model_bytes(nodes, {"x": [1]}, ["y"]), "'r' (Reshape)", "must be constant")


def test_zero_sizes_are_read() -> None:
    assert import_onnx(model_bytes([RELU], {"x": [0, 3]}, ["y"])).types["y"].shape == (0, 3)


def test_unread_types_are_named() -> None:
    model = onnx.load_from_string(model_bytes([RELU], {"x": [2]}, ["y"]))
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    refused(model.SerializeToString(), "'x'", "STRING")


def test_outputs_beyond_the_known_ones_must_be_unused() -> None:
    node = helper.make_node("MaxPool", ["x"], ["y", "places"], name="m", kernel_shape=[2])
    read = import_onnx(model_bytes([node], {"x": [1, 1, 4]}, ["y"]))
    assert read.nodes[0].outputs == ("y",)
    refused(model_bytes([node], {"x": [1, 1, 4]}, ["y", "places"]), "'m' (MaxPool)", "'places'")


@pytest.mark.parametrize("text", [b"relu", b"Relu", b"xin"])
def test_a_name_that_is_no_text_is_refused(text: bytes) -> None:
    node = helper.make_node("Relu", ["xin"], ["y"], name="relu")
    shape = helper.make_tensor_value_info
    graph = helper.make_graph([node], "g", [shape("xin", 1, [2])], [shape("y", 1, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    damaged = model.SerializeToString().replace(text, b"\xbb" + text[1:])
    with pytest.raises(InvalidInput, match="not UTF-8"):
        import_onnx(damaged)
