"""Words for writing small graphs in tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from autosched.graph.graph import Graph
from autosched.graph.importers.onnx import import_onnx
from tests.graph.models import model_bytes

RNG = np.random.default_rng(11)


def normal(*shape: int) -> Any:
    """Standard normal float32 values."""
    return RNG.standard_normal(shape).astype(np.float32)


def imported(
    nodes: list[NodeProto], inputs: Mapping[str, Any], constants: Mapping[str, Any], *outputs: str
) -> Graph:
    """The graph of an opset-17 model; its output is `y` unless others are named."""
    return import_onnx(model_bytes(nodes, inputs, outputs or ("y",), constants))


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """`node("Add", "a b", "c")`, named n_c; a dash is an absent input."""
    names = ["" if n == "-" else n for n in inputs.split()]
    made = outputs.split()
    return helper.make_node(op, names, made, name=f"n_{made[0]}", **attributes)
