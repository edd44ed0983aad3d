"""ONNX protobuf messages read with suspicion: arrays whose data is inside the bytes and fills its shape exactly.

External data, oversized tensors, truncated data and unknown element types are refused with the name of the tensor.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, numpy_helper

from autosched.errors import InvalidInput
from autosched.graph.graph import Array, TensorType
from autosched.graph.limits import DEFAULT_LIMITS, ImportLimits, check_size
from autosched.plain import check_plain

DTYPE_OF_ELEMENT: Mapping[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
    TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.INT64: "int64",
    TensorProto.INT32: "int32",
    TensorProto.INT8: "int8",
    TensorProto.UINT8: "uint8",
    TensorProto.BOOL: "bool",
}


def parse_model(data: bytes, limits: ImportLimits = DEFAULT_LIMITS) -> onnx.ModelProto:
    """The protobuf message in `data`; InvalidInput if it is none, too large or refers to other files."""
    if len(data) > limits.file_bytes:
        raise InvalidInput(
            f"the ONNX file has {len(data)} bytes: at most {limits.file_bytes} are allowed"
        )
    try:
        model: onnx.ModelProto = onnx.ModelProto.FromString(data)
    except DecodeError as error:
        raise InvalidInput(f"the ONNX file is truncated or damaged: {error}") from error
    if not model.HasField("graph") or not model.graph.output:
        raise InvalidInput(
            "the file holds no ONNX graph with outputs: it is empty, truncated or no ONNX model"
        )
    _check_texts(model)
    return model


def _check_texts(model: onnx.ModelProto) -> None:
    """InvalidInput for a name that is no plain text, or no UTF-8: the parser hands such ones out as bytes."""
    graph = model.graph
    found: list[tuple[str, object]] = [("domain", e.domain) for e in model.opset_import]
    found += [("initializer", t.name) for t in graph.initializer]
    for value in (*graph.input, *graph.output):
        found.append(("value", value.name))
        found += [("dimension", d.dim_param) for d in value.type.tensor_type.shape.dim]
    for node in graph.node:
        texts = (node.name, node.op_type, node.domain, *node.input, *node.output)
        found += [("node", text) for text in texts]
        found += [("attribute", attribute.name) for attribute in node.attribute]
    for what, text in found:
        if not isinstance(text, str):
            raise InvalidInput(f"the ONNX file names a {what} {text!r}, which is not UTF-8")
        check_plain(f"the ONNX file's name of a {what},", text)


def dtype_of(element: int, owner: str) -> str:
    if element not in DTYPE_OF_ELEMENT:
        known = ", ".join(DTYPE_OF_ELEMENT.values())
        name = (
            TensorProto.DataType.Name(element)
            if element in TensorProto.DataType.values()
            else str(element)
        )
        raise InvalidInput(f"{owner} has element type {name}: known are {known}")
    return DTYPE_OF_ELEMENT[element]


def read_tensor(tensor: TensorProto, name: str, limits: ImportLimits) -> Array:
    """The array of a tensor message; its data must be inside the message and fill its shape exactly."""
    owner = f"tensor {name!r}"
    if tensor.data_location == TensorProto.EXTERNAL or tensor.external_data:
        raise InvalidInput(f"{owner} keeps its data in another file: external data is refused")
    kind = TensorType(tuple(int(d) for d in tensor.dims), dtype_of(tensor.data_type, owner))
    check_size(name, kind, limits)
    wanted, stored = _wanted_and_stored(tensor, kind)
    if stored != wanted:
        raise InvalidInput(f"{owner} is {kind}, {wanted}, but holds {stored}: truncated or damaged")
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"{owner} cannot be read: {error}") from error
    return np.ascontiguousarray(array).reshape(kind.shape)


def _wanted_and_stored(tensor: TensorProto, kind: TensorType) -> tuple[str, str]:
    """How much data the shape claims and how much the message really holds, in bytes or, where it is not stored as
    bytes, in elements."""
    if tensor.HasField("raw_data"):
        return f"{kind.n_bytes} bytes", f"{len(tensor.raw_data)} bytes"
    fields = {"float32": "float_data", "float64": "double_data", "int64": "int64_data"}
    stored = len(getattr(tensor, fields.get(kind.dtype, "int32_data")))
    return f"{kind.elements} elements", f"{stored} elements"
