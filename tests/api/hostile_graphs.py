"""Graphs that nobody should send: mutated ONNX files and graph documents, and known traps, drawn from a seed.

Each is (what it is, kind, content): kind "onnx" with the bytes of a file, or "json" with a graph document.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Hostile = tuple[str, str, Any]
Model = onnx.ModelProto
FLOAT = TensorProto.FLOAT


def hostile_graphs(n: int, seed: int) -> Iterator[Hostile]:
    """So many of them: in turn an ONNX trap, a mutated file, a JSON trap, a mutated document."""
    rng = random.Random(seed)
    makers = (_onnx_trap, _mutated_file, _json_trap, _mutated_document)
    for i in range(n):
        yield makers[i % len(makers)](rng)


# --- ONNX ---------------------------------------------------------------------------------------------------------


def _value(name: str, shape: Any, kind: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: Any = ()) -> Model:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def _array(name: str, array: Any) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(array), name)


def _small(rng: random.Random) -> Model:
    """A sound model to be mutated."""
    width = rng.choice([3, 8])
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["p"], name="pool"),
        helper.make_node("Flatten", ["p"], ["f"], name="flat"),
        helper.make_node("Gemm", ["f", "m"], ["y"], name="gemm", alpha=0.5),
    ]
    constants = [
        _array("w", np.full((width, 3, 3, 3), 0.1, np.float32)),
        _array("b", np.zeros(width, np.float32)),
        _array("m", np.ones((width, 4), np.float32)),
    ]
    return _model(nodes, [_value("x", [1, 3, 8, 8])], [_value("y", [1, 4])], constants)


def _folding_bomb(rng: random.Random) -> Model:
    """Constants that grow when they are computed: 2**38 elements and more from a few bytes."""
    size = rng.choice([1 << 28, 1 << 33, 1 << 38, (1 << 62) - 1])
    shape = [size] if rng.random() < 0.5 else [1 << 16, max(1, size >> 16)]
    grow = rng.choice(["ConstantOfShape", "Expand", "Range", "Tile"])
    constants = [_array("s", np.array(shape, np.int64)), _array("one", np.ones(1, np.float32))]
    if grow == "ConstantOfShape":
        node = helper.make_node(grow, ["s"], ["big"])
    elif grow == "Range":
        constants += [
            _array("a", np.int64(0)),
            _array("z", np.int64(size)),
            _array("d", np.int64(1)),
        ]
        node = helper.make_node(grow, ["a", "z", "d"], ["big"])
    elif grow == "Tile":
        constants[0] = _array("s", np.array([size], np.int64))
        node = helper.make_node(grow, ["one", "s"], ["big"])
    else:
        node = helper.make_node(grow, ["one", "s"], ["big"])
    nodes = [node, helper.make_node("Exp", ["big"], ["e"])]
    nodes += [
        helper.make_node("ReduceSum", ["e"], ["t"], keepdims=0),
        helper.make_node("Add", ["x", "t"], ["y"]),
    ]
    return _model(nodes, [_value("x", [2])], [_value("y", [2])], constants)


def _doubling(rng: random.Random) -> Model:
    """Each node doubles what the one before made."""
    n = rng.randrange(20, 60)
    names = ["one", *(f"t{i}" for i in range(n))]
    nodes = [helper.make_node("Concat", [a, a], [b], axis=0) for a, b in pairwise(names)]
    nodes.append(helper.make_node("Add", ["x", names[-1]], ["y"]))
    constants = [_array("one", np.ones(1, np.float32))]
    return _model(nodes, [_value("x", [1])], [_value("y", None)], constants)


def _long_chain(rng: random.Random) -> Model:
    n = rng.choice([50, 300, 1_000])
    nodes = [
        helper.make_node(rng.choice(["Relu", "Neg", "Exp"]), [f"t{i}"], [f"t{i + 1}"])
        for i in range(n)
    ]
    return _model(nodes, [_value("t0", [2])], [_value(f"t{n}", [2])])


def _cycle(rng: random.Random) -> Model:
    n = rng.randrange(1, 50)
    nodes = [helper.make_node("Relu", [f"t{i}"], [f"t{(i + 1) % n}"]) for i in range(n)]
    return _model(nodes, [_value("x", [2])], [_value("t0", [2])])


def _external(rng: random.Random) -> Model:
    model = _small(rng)
    tensor = model.graph.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    place = tensor.external_data.add()
    place.key = "location"
    place.value = rng.choice(["/etc/passwd", "../../../etc/shadow", "weights.bin", "\0"])
    if rng.random() < 0.5:
        tensor.ClearField("raw_data")
    return model


def _huge_dimension(rng: random.Random) -> Model:
    model = _small(rng)
    size = rng.choice([1 << 31, 1 << 40, (1 << 63) - 1, -1, 0, -(1 << 63)])
    if rng.random() < 0.5:
        dim = model.graph.input[0].type.tensor_type.shape.dim[rng.randrange(4)]
        dim.dim_value = size
    else:
        model.graph.initializer[rng.randrange(3)].dims[0] = size
    return model


def _many_dimensions(rng: random.Random) -> Model:
    shape = [1] * rng.choice([17, 64, 1000, 50_000])
    return _model(
        [helper.make_node("Relu", ["x"], ["y"])], [_value("x", shape)], [_value("y", shape)]
    )


def _nested(rng: random.Random) -> Model:
    """Subgraphs in subgraphs."""
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "b", [], [_value("y", [2])])
    for _ in range(rng.randrange(1, 40)):
        node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
        if body.ByteSize() > 1 << 18:
            break
        body = helper.make_graph([node], "b", [], [_value("y", [2])])
    inputs = [_value("x", [2]), _value("c", [], TensorProto.BOOL)]
    graph = helper.make_graph(list(body.node), "g", inputs, [_value("y", [2])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def _odd_type(rng: random.Random) -> Model:
    kind = rng.choice([TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.UINT16, 99, 0])
    model = _small(rng)
    if rng.random() < 0.5:
        model.graph.input[0].type.tensor_type.elem_type = kind
    else:
        model.graph.initializer[rng.randrange(3)].data_type = kind
    return model


def _odd_name(rng: random.Random) -> Model:
    model = _small(rng)
    name = rng.choice(["", "\0", "a\nb", "x" * 100_000, "🦊" * 50, "../../x", "'; drop table jobs"])
    model.graph.node[rng.randrange(5)].name = name
    return model


def _odd_operator(rng: random.Random) -> Model:
    model = _small(rng)
    node = model.graph.node[rng.randrange(5)]
    known = ["Conv", "Reshape", "Softmax", "MatMul", "Slice", "Resize", "LSTM", "Loop", "Nothing"]
    node.op_type = rng.choice(known)
    if rng.random() < 0.3:
        node.domain = rng.choice(["com.microsoft", "", "x" * 1000])
    return model


def _odd_attribute(rng: random.Random) -> Model:
    model = _small(rng)
    node = model.graph.node[rng.randrange(5)]
    name = rng.choice(
        ["pads", "strides", "kernel_shape", "group", "axis", "alpha", "perm", "dilations"]
    )
    value = rng.choice(
        [[], [0, 0], [-1, -1], [1 << 62] * 2, 0, -5, 1 << 62, 1e38, float("nan"), "text"]
    )
    for old in [a for a in node.attribute if a.name == name]:
        node.attribute.remove(old)
    node.attribute.append(helper.make_attribute(name, value, attr_type=3 if value == [] else None)
                          if value != [] else onnx.AttributeProto(name=name, type=7))  # fmt: skip
    return model


def _repeated(rng: random.Random) -> Model:
    model = _small(rng)
    part = rng.choice([model.graph.node, model.graph.initializer, model.graph.input])
    part.append(copy.deepcopy(part[0]))
    return model


ONNX_TRAPS: tuple[Callable[[random.Random], Model], ...] = (
    _folding_bomb, _doubling, _long_chain, _cycle, _external, _huge_dimension, _many_dimensions,
    _nested, _odd_type, _odd_name, _odd_operator, _odd_attribute, _repeated,
)  # fmt: skip


def _onnx_trap(rng: random.Random) -> Hostile:
    make = rng.choice(ONNX_TRAPS)
    return make.__name__, "onnx", make(rng).SerializeToString()


def _mutated_file(rng: random.Random) -> Hostile:
    """Bytes of a sound file cut off, overwritten, repeated or left out."""
    data = bytearray(_small(rng).SerializeToString())
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(len(data))
        end = min(len(data), at + rng.randrange(1, 32))
        match rng.randrange(5):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                data[at:end] = bytes(rng.randrange(256) for _ in range(end - at))
            case 2:
                data[at:at] = data[at:end]
            case 3:
                del data[at:end]
            case _:
                data = data[: max(1, at)]
        data = data or bytearray(b"\0")
    return "mutated file", "onnx", bytes(data)


# --- JSON ---------------------------------------------------------------------------------------------------------


def _document(rng: random.Random) -> dict[str, Any]:
    width = rng.choice([4, 6])
    return {
        "autosched_graph": 1,
        "inputs": [{"name": "x", "dtype": "float32", "shape": [2, width]}],
        "constants": [
            {"name": "w", "dtype": "float32", "shape": [width, 3], "fill": 0.5},
            {"name": "s", "dtype": "int64", "shape": [2], "data": "AwAAAAAAAAACAAAAAAAAAA=="},
        ],
        "nodes": [
            {"name": "m", "op": "MatMul", "inputs": ["x", "w"], "outputs": ["a"]},
            {"name": "r", "op": "Reshape", "inputs": ["a", "s"], "outputs": ["b"]},
            {"name": "t", "op": "Softmax", "inputs": ["b"], "outputs": ["y"], "attributes": {"axis": -1}},
        ],
        "outputs": ["y"],
    }  # fmt: skip


NASTY: tuple[Any, ...] = (
    None, True, 0, -1, 1 << 31, 1 << 62, (1 << 63) - 1, 1 << 64, 1e308, -0.0, "", "\0", "x" * 5000,
    "../../etc/passwd", [], {}, [[]], [None], ["y"], {"a": 1}, [1 << 40] * 3, [0], [1] * 100, "🦊",
)  # fmt: skip


def _mutated_document(rng: random.Random) -> Hostile:
    """Values at any depth replaced, left out, repeated or moved."""
    document = _document(rng)
    for _ in range(rng.randrange(1, 4)):
        holder, key = rng.choice(list(_places(document)))
        match rng.randrange(4):
            case 0:
                holder[key] = copy.deepcopy(rng.choice(NASTY))
            case 1:
                del holder[key]
            case 2:
                holder[key] = copy.deepcopy(rng.choice([h[k] for h, k in _places(document)]))
            case _ if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case _:
                holder[f"{key}x"] = copy.deepcopy(holder[key])
        if not document:
            break
    return "mutated document", "json", document


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _json_bomb(rng: random.Random) -> dict[str, Any]:
    size = rng.choice([1 << 28, 1 << 38, (1 << 63) - 1])
    document = _document(rng)
    document["constants"].append({"name": "c", "dtype": "float64", "shape": [size], "fill": 1.0})
    document["nodes"] += [
        {"name": "e", "op": "Exp", "inputs": ["c"], "outputs": ["e"]},
        {"name": "u", "op": "ReduceMax", "inputs": ["e"], "outputs": ["z"]},
    ]
    document["outputs"].append("z")
    return document


def _deep(rng: random.Random) -> dict[str, Any]:
    document, nested = _document(rng), []
    for _ in range(rng.choice([100, 180, 500])):
        nested = [nested]
    document["nodes"][0]["attributes"] = {"a": nested}
    return document


def _wide(rng: random.Random) -> dict[str, Any]:
    n = rng.choice([20, 100, 400])
    document = _document(rng)
    document["nodes"] += [
        {"name": f"n{i}", "op": "Relu", "inputs": ["x"], "outputs": [f"o{i}"]} for i in range(n)
    ]
    document["outputs"] += [f"o{i}" for i in range(n)]
    return document


def _json_cycle(rng: random.Random) -> dict[str, Any]:
    document = _document(rng)
    document["nodes"][0]["inputs"][0] = rng.choice(["y", "a", "b"])
    return document


JSON_TRAPS = (_json_bomb, _deep, _wide, _json_cycle)


def _json_trap(rng: random.Random) -> Hostile:
    make = rng.choice(JSON_TRAPS)
    return make.__name__, "json", make(rng)


def as_request(hostile: Hostile) -> dict[str, Any]:
    """The arguments of an HTTP client that submits it."""
    _, kind, content = hostile
    if kind == "onnx":
        return {"files": {"model": content}, "data": {"request": '{"trials": 1}'}}
    body = json.dumps({"trials": 1, "graph": content})
    return {"content": body, "headers": {"Content-Type": "application/json"}}
