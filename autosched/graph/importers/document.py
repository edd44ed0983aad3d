"""The form of `graph.json`: one set of models that reads, checks and describes it as JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from autosched.plain import PLAIN_PATTERN

Plain = Annotated[str, Field(pattern=PLAIN_PATTERN)]
Name = Annotated[Plain, Field(min_length=1)]
Dimension = Annotated[int, Field(ge=0, lt=1 << 63)]
DType = Literal[
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool"
]


class Strict(BaseModel):
    """Unknown fields are refused, and no value is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TensorDocument(Strict):
    """Element type and shape; every dimension is a number."""

    dtype: DType
    shape: list[Dimension]


class InputDocument(TensorDocument):
    """One graph input."""

    name: Name


class ValueDocument(TensorDocument):
    """A tensor with its elements: `data`, little-endian row-major in base64, or `fill`, one number for all."""

    data: str | None = None
    fill: float | int | bool | None = None


class ConstantDocument(ValueDocument):
    """One constant of the graph."""

    name: Name


AttributeDocument = int | float | str | list[int] | list[float] | list[str] | ValueDocument


class NodeDocument(Strict):
    """One ONNX operator at opset 17. The empty input name is an absent optional operand."""

    name: Plain
    op: Name
    inputs: list[Plain]
    outputs: Annotated[list[Plain], Field(min_length=1)]
    attributes: dict[str, AttributeDocument] = {}


class GraphDocument(Strict):
    """The whole file; `autosched_graph` is the version of the format."""

    autosched_graph: Literal[1]
    inputs: list[InputDocument]
    constants: list[ConstantDocument] = []
    nodes: list[NodeDocument]
    outputs: Annotated[list[Name], Field(min_length=1)]


def graph_schema(operators: Iterable[str]) -> dict[str, Any]:
    """JSON Schema of `graph.json`, in which `op` is one of `operators`."""
    schema = GraphDocument.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "autosched graph"
    schema["$defs"]["NodeDocument"]["properties"]["op"]["enum"] = list(operators)
    return schema
