"""Operands that steer an operator, told apart from the data it works on.

ONNX passes shapes, axes and bounds as tensors. A tensor expression needs them as numbers, so they must be constants:

    Reshape(x, shape)        ->  data x, attribute shape = (1, 1000)
    Clip(x, "", max)         ->  data x, attribute max = 6.0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.graph.graph import Array, Node
from autosched.graph.structure import describe

PARAMETERS: Mapping[str, Mapping[int, str]] = {
    "Clip": {1: "min", 2: "max"},
    "ConstantOfShape": {0: "shape"},
    "Expand": {1: "shape"},
    "Pad": {1: "pads", 2: "value"},
    "ReduceSum": {1: "axes"},
    "Reshape": {1: "shape"},
    "Slice": {1: "starts", 2: "ends", 3: "axes", 4: "steps"},
    "Split": {1: "split"},
    "Squeeze": {1: "axes"},
    "Tile": {1: "repeats"},
    "TopK": {1: "k"},
    "Unsqueeze": {1: "axes"},
}
"""Operator -> position of an input -> the attribute that it becomes."""


@dataclass(frozen=True)
class Bound:
    """A node's data operands in order ("" where an optional one is absent) and all of its attributes."""

    inputs: tuple[str, ...]
    attributes: Mapping[str, Any]


def bind(node: Node, constants: Mapping[str, Array]) -> Bound:
    """The node with its parameter inputs as attributes; InvalidInput if one of them is no constant."""
    parameters = PARAMETERS.get(node.op, {})
    attributes = dict(node.attributes)
    data: list[str] = []
    for position, tensor in enumerate(node.inputs):
        name = parameters.get(position)
        if name is None:
            data.append(tensor)
        elif tensor:
            if tensor not in constants:
                raise InvalidInput(
                    f"{describe(node)}: {name} is tensor {tensor!r}, which is computed from graph "
                    "inputs; it must be constant"
                )
            attributes[name] = parameter_value(constants[tensor])
    while data and data[-1] == "":
        data.pop()
    return Bound(tuple(data), attributes)


def parameter_value(array: Array) -> Any:
    """A scalar as a Python number, a list of numbers as a tuple."""
    array = np.asarray(array)
    return array.item() if array.ndim == 0 else tuple(array.ravel().tolist())
