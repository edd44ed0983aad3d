"""ONNX bytes -> graph: the messages of a model as a draft at opset 17, then built.

Nothing is fetched from outside the bytes. Operators are not looked at here beyond the raising of their opset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx

from autosched.errors import InvalidInput
from autosched.graph.build import build_graph
from autosched.graph.graph import Draft, Graph, Node, TensorType
from autosched.graph.importers.opset import raise_opset
from autosched.graph.importers.protobuf import dtype_of, parse_model, read_tensor
from autosched.graph.limits import DEFAULT_LIMITS, ImportLimits, check_size

ONNX_DOMAINS = ("", "ai.onnx")


def import_onnx(
    data: bytes,
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    limits: ImportLimits = DEFAULT_LIMITS,
) -> Graph:
    """The graph of an ONNX file given as bytes.

    `shapes` gives concrete shapes of inputs whose file shapes are dynamic. InvalidInput if the file breaks a rule.
    """
    return build_graph(read_onnx(data, shapes=shapes, limits=limits), limits=limits)


def read_onnx(
    data: bytes,
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    limits: ImportLimits = DEFAULT_LIMITS,
) -> Draft:
    """The draft of an ONNX file, its operators raised to opset 17."""
    model = parse_model(data, limits)
    graph = model.graph
    if graph.sparse_initializer:
        name = graph.sparse_initializer[0].values.name
        raise InvalidInput(f"initializer {name!r} is sparse: only dense initializers are read")
    constants = {t.name: read_tensor(t, t.name, limits) for t in graph.initializer}
    if len(constants) != len(graph.initializer):
        raise InvalidInput("the model repeats the name of an initializer: names are unique")
    inputs = {
        v.name: _input_type(v, (shapes or {}).get(v.name), limits)
        for v in graph.input
        if v.name not in constants
    }
    if len(inputs) != len([v for v in graph.input if v.name not in constants]):
        raise InvalidInput("the model repeats the name of an input: names are unique")
    draft = Draft(
        inputs=inputs,
        outputs=tuple(v.name for v in graph.output),
        nodes=tuple(_node(n, limits) for n in graph.node),
        constants=constants,
        versions=_versions(model),
    )
    return raise_opset(draft)


def _versions(model: onnx.ModelProto) -> dict[str, int]:
    versions = {
        "" if e.domain in ONNX_DOMAINS else e.domain: int(e.version) for e in model.opset_import
    }
    if "" not in versions:
        raise InvalidInput(
            "the model names no version of the ONNX operator set: opset_import is needed"
        )
    return versions


def _input_type(
    value: onnx.ValueInfoProto, given: tuple[int, ...] | None, limits: ImportLimits
) -> TensorType:
    if not value.type.HasField("tensor_type"):
        raise InvalidInput(
            f"input {value.name!r} is no tensor: sequences, maps and optionals are not read"
        )
    tensor = value.type.tensor_type
    if not tensor.HasField("shape") and given is None:
        raise InvalidInput(f"input {value.name!r} has no shape: give every dimension as a number")
    shape = given if given is not None else _static_shape(value)
    kind = TensorType(tuple(shape), dtype_of(tensor.elem_type, f"input {value.name!r}"))
    check_size(value.name, kind, limits)
    return kind


def _static_shape(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    dims = value.type.tensor_type.shape.dim
    shown = [str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in dims]
    for position, dim in enumerate(dims):
        if not dim.HasField("dim_value"):
            raise InvalidInput(
                f"input {value.name!r} has shape [{', '.join(shown)}]: dimension {position} "
                f"({shown[position]!r}) is dynamic; give every dimension as a number"
            )
    return tuple(int(d.dim_value) for d in dims)


def _node(node: onnx.NodeProto, limits: ImportLimits) -> Node:
    name = node.name or (node.output[0] if node.output else "")
    return Node(
        name,
        node.op_type,
        tuple(node.input),
        tuple(node.output),
        {a.name: _attribute(a, name, limits) for a in node.attribute},
        "" if node.domain in ONNX_DOMAINS else node.domain,
    )


def _attribute(attribute: onnx.AttributeProto, node: str, limits: ImportLimits) -> Any:
    """The value as Python ints, floats, strings, arrays or tuples of them; subgraphs stay as they are."""
    kinds = onnx.AttributeProto
    match attribute.type:
        case kinds.INT | kinds.FLOAT | kinds.INTS | kinds.FLOATS | kinds.GRAPH | kinds.GRAPHS:
            value = onnx.helper.get_attribute_value(attribute)
            return tuple(value) if isinstance(value, (list, tuple)) else value
        case kinds.STRING:
            return _text(attribute.s, attribute.name, node)
        case kinds.STRINGS:
            return tuple(_text(s, attribute.name, node) for s in attribute.strings)
        case kinds.TENSOR:
            return read_tensor(attribute.t, f"{node}.{attribute.name}", limits)
    raise InvalidInput(f"node {node!r}: attribute {attribute.name!r} has an unknown type")


def _text(raw: bytes, attribute: str, node: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"node {node!r}: attribute {attribute!r} is no UTF-8 text") from error
