"""`graph.json`: both ways, its schema, and documents that break a rule."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import pytest

from autosched.errors import InvalidInput
from autosched.graph.importers.json import export_json, import_json, json_schema
from autosched.graph.source import ModelSource, load_source


def document(**changes: Any) -> dict[str, Any]:
    """A matrix product with bias and a clip, with changes."""
    return {
        "autosched_graph": 1,
        "inputs": [{"name": "x", "dtype": "float32", "shape": [2, 3]}],
        "constants": [
            {"name": "w", "dtype": "float32", "shape": [3, 2], "fill": 0.5},
            {"name": "b", "dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="},
            {"name": "six", "dtype": "float32", "shape": [], "fill": 6},
        ],
        "nodes": [
            {"name": "m", "op": "MatMul", "inputs": ["x", "w"], "outputs": ["p"], "attributes": {}},
            {"name": "a", "op": "Add", "inputs": ["p", "b"], "outputs": ["q"]},
            {"name": "c", "op": "Clip", "inputs": ["q", "", "six"], "outputs": ["y"]},
        ],
        "outputs": ["y"],
    } | changes


def test_a_document_is_read() -> None:
    graph = import_json(json.dumps(document()))
    assert [n.op for n in graph.nodes] == ["MatMul", "Add", "Clip"]
    assert str(graph.types["y"]) == "float32[2, 2]"
    np.testing.assert_array_equal(graph.constants["b"], [1, 2])
    np.testing.assert_array_equal(graph.constants["w"], np.full((3, 2), 0.5))


def test_export_and_import_give_the_same_graph() -> None:
    source = load_source("onnx:light_squeezenet")
    assert isinstance(source, ModelSource)
    again = import_json(export_json(source.graph))
    assert again.nodes == source.graph.nodes
    assert again.types == source.graph.types
    assert again.inputs == source.graph.inputs
    assert again.outputs == source.graph.outputs
    assert again.constants.keys() == source.graph.constants.keys()
    for name, array in source.graph.constants.items():
        np.testing.assert_array_equal(again.constants[name], array)


def test_the_schema_accepts_what_the_importer_accepts() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document(), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document(outputs=[]), schema)


NODE = {"name": "n", "op": "Relu", "inputs": ["x"], "outputs": ["y"]}
BROKEN: dict[str, tuple[Any, list[str]]] = {
    "version": ({"autosched_graph": 2}, ["/autosched_graph"]),
    "unknown field": ({"extra": 1}, ["/extra"]),
    "negative dimension": (
        {"inputs": [{"name": "x", "dtype": "float32", "shape": [-1]}]},
        ["/inputs/0/shape/0"],
    ),
    "dynamic dimension": (
        {"inputs": [{"name": "x", "dtype": "float32", "shape": ["batch"]}]},
        ["/inputs/0/shape/0", "'batch'", "dynamic", "number"],
    ),
    "dtype": ({"inputs": [{"name": "x", "dtype": "complex64", "shape": [1]}]}, ["dtype"]),
    "short data": (
        {"constants": [{"name": "w", "dtype": "float32", "shape": [3], "data": "AAAA"}]},
        ["'w'", "12 bytes", "holds 3"],
    ),
    "no base64": (
        {"constants": [{"name": "w", "dtype": "float32", "shape": [3], "data": "%%%"}]},
        ["'w'", "base64"],
    ),
    "data and fill": (
        {"constants": [{"name": "w", "dtype": "int8", "shape": [1], "data": "AA==", "fill": 1}]},
        ["'w'", "one of data and fill"],
    ),
    "fill of another type": (
        {"constants": [{"name": "w", "dtype": "int8", "shape": [1], "fill": 300}]},
        ["'w'", "300"],
    ),
    "fill beyond every float": (
        {"constants": [{"name": "w", "dtype": "float32", "shape": [1], "fill": 10**400}]},
        ["'w'", "too large for float32"],
    ),
    "absurd": (
        {"constants": [{"name": "w", "dtype": "int8", "shape": [1 << 40, 1 << 40], "fill": 1}]},
        ["'w'", "memory"],
    ),
    "unknown operators": (
        {
            "nodes": [
                {**NODE, "op": "Fly"},
                {**NODE, "op": "Swim", "inputs": ["y"], "outputs": ["z"]},
            ]
        },
        ["2 nodes", "Fly", "Swim", "x float32[2, 3]", "version 17"],
    ),
    "shape mismatch": (
        {"constants": [{"name": "w", "dtype": "float32", "shape": [4, 2], "fill": 1}]}
        | {"nodes": [{**NODE, "op": "MatMul", "inputs": ["x", "w"]}]},
        ["'n' (MatMul)", "3", "4"],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_document_is_refused(name: str) -> None:
    changes, words = BROKEN[name]
    with pytest.raises(InvalidInput) as caught:
        import_json(json.dumps(document(**changes)))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"autosched_graph": 1', "[" * 100_000])
def test_no_document_at_all(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"graph\.json"):
        import_json(text)
