"""`graph.json` -> graph, and back. Operators are those of ONNX opset 17; see `document` for the form."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np
from pydantic import ValidationError

from autosched.errors import InvalidInput
from autosched.graph.build import build_graph
from autosched.graph.compile_time import COMPILE_TIME
from autosched.graph.graph import Array, Draft, Graph, Node, TensorType
from autosched.graph.importers.document import (
    ConstantDocument,
    GraphDocument,
    InputDocument,
    NodeDocument,
    ValueDocument,
    graph_schema,
)
from autosched.graph.importers.opset import REWRITES, raise_opset
from autosched.graph.limits import DEFAULT_LIMITS, ImportLimits, check_size
from autosched.ops import OPS
from autosched.te.dtype import is_float, numpy_dtype

SHOWN_ERRORS = 5
SHOWN_CHARACTERS = 60


def import_json(data: bytes | str, *, limits: ImportLimits = DEFAULT_LIMITS) -> Graph:
    """The graph of a `graph.json` document; InvalidInput with JSON pointers if it breaks a rule."""
    if len(data) > limits.file_bytes:
        raise InvalidInput(
            f"graph.json has {len(data)} bytes: at most {limits.file_bytes} are allowed"
        )
    try:
        document = GraphDocument.model_validate_json(data)
    except ValidationError as error:
        raise InvalidInput(_problem(error)) from error
    return build_graph(raise_opset(_draft(document, limits)), limits=limits)


def export_json(graph: Graph) -> str:
    """The `graph.json` document of a graph; importing it gives the same graph."""
    document = GraphDocument(
        autosched_graph=1,
        inputs=[_input_document(name, graph.types[name]) for name in graph.inputs],
        constants=[_constant_document(n, a) for n, a in graph.constants.items()],
        nodes=[_node_document(node) for node in graph.nodes],
        outputs=list(graph.outputs),
    )
    return document.model_dump_json(exclude_none=True)


def operator_names() -> tuple[str, ...]:
    """The ONNX operators that a graph may hold when it is read, those that never reach a kernel included."""
    return tuple(sorted({*OPS, *COMPILE_TIME, *REWRITES}))


def json_schema() -> dict[str, Any]:
    """JSON Schema of `graph.json` over the operators known."""
    return graph_schema(operator_names())


def _problem(error: ValidationError) -> str:
    details = error.errors(include_url=False, include_context=False)
    lines = [f"  {_detail(e['loc'], e['input'], e['msg'])}" for e in details[:SHOWN_ERRORS]]
    if len(details) > SHOWN_ERRORS:
        lines.append(f"  and {len(details) - SHOWN_ERRORS} more")
    return "graph.json does not have its form:\n" + "\n".join(lines)


def _detail(where: tuple[int | str, ...], value: Any, rule: str) -> str:
    """Pointer, value and rule of one error; a dimension that is no number is asked for as one."""
    shown = repr(value)
    shown = shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]}..."
    if "shape" in where and isinstance(value, str | None):
        rule = "the dimension is dynamic; give every dimension as a number"
    return f"/{'/'.join(map(str, where))} is {shown}: {rule}"


def _draft(document: GraphDocument, limits: ImportLimits) -> Draft:
    inputs = {i.name: TensorType(tuple(i.shape), i.dtype) for i in document.inputs}
    for name, kind in inputs.items():
        check_size(name, kind, limits)
    constants = {c.name: _array(c, c.name, limits) for c in document.constants}
    for what, given, read in (
        ("input", document.inputs, inputs),
        ("constant", document.constants, constants),
    ):
        if len(given) != len(read):
            raise InvalidInput(f"graph.json repeats the name of an {what}: names are unique")
    return Draft(
        inputs, tuple(document.outputs), tuple(_node(n, limits) for n in document.nodes), constants
    )


def _node(node: NodeDocument, limits: ImportLimits) -> Node:
    attributes = {
        name: _array(value, f"{node.name}.{name}", limits)
        if isinstance(value, ValueDocument)
        else tuple(value)
        if isinstance(value, list)
        else value
        for name, value in node.attributes.items()
    }
    name = node.name or node.outputs[0]
    return Node(name, node.op, tuple(node.inputs), tuple(node.outputs), attributes)


def _array(value: ValueDocument, name: str, limits: ImportLimits) -> Array:
    kind = TensorType(tuple(value.shape), value.dtype)
    check_size(name, kind, limits)
    dtype = numpy_dtype(kind.dtype)
    if (value.data is None) == (value.fill is None):
        raise InvalidInput(f"constant {name!r} needs one of data and fill")
    if value.data is None:
        return np.broadcast_to(_filled(value, name), kind.shape)
    try:
        raw = base64.b64decode(value.data, validate=True)
    except binascii.Error as error:
        raise InvalidInput(f"constant {name!r}: data is no base64: {error}") from error
    if len(raw) != kind.n_bytes:
        raise InvalidInput(
            f"constant {name!r} is {kind}, {kind.n_bytes} bytes, but data holds {len(raw)}"
        )
    return np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype).reshape(kind.shape)


def _filled(value: ValueDocument, name: str) -> Array:
    dtype = numpy_dtype(value.dtype)
    fill = np.asarray(value.fill)
    try:
        with np.errstate(all="ignore"):
            stored = fill.astype(dtype)
    except OverflowError:
        raise InvalidInput(f"constant {name!r}: fill is too large for {value.dtype}") from None
    if value.dtype.startswith(("int", "uint", "bool")) and stored != fill:
        raise InvalidInput(f"constant {name!r}: fill {value.fill} is no {value.dtype}")
    return stored


def _input_document(name: str, kind: TensorType) -> InputDocument:
    return InputDocument(name=name, dtype=kind.dtype, shape=list(kind.shape))  # type: ignore[arg-type]


def _constant_document(name: str, array: Array) -> ConstantDocument:
    return ConstantDocument(name=name, **_value_fields(array))


def _value_fields(array: Array) -> dict[str, Any]:
    """Element type, shape, and one number where all elements are that finite number."""
    fields: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if is_uniform(array):
        return {**fields, "fill": np.float64(array.flat[0]).item()}
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    return {**fields, "data": base64.b64encode(little.tobytes()).decode()}


def is_uniform(array: Array) -> bool:
    """Whether one finite float, not zero (whose sign JSON may lose), stands for two or more elements."""
    if array.size < 2 or not is_float(array.dtype.name):
        return False
    first = array.flat[0]
    return bool(np.isfinite(first)) and first != 0 and bool(np.all(array == first))


def _node_document(node: Node) -> NodeDocument:
    return NodeDocument(
        name=node.name,
        op=node.op,
        inputs=list(node.inputs),
        outputs=list(node.outputs),
        attributes={k: _attribute(v) for k, v in node.attributes.items()},
    )


def _attribute(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ValueDocument(**_value_fields(value))
    return list(value) if isinstance(value, tuple) else value
