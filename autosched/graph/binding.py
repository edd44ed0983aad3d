"""Operands that steer an operator, told apart from the data it works on.

ONNX passes shapes, axes and bounds as tensors. A tensor expression needs them as numbers, so they must be constants:

    Reshape(x, shape)        ->  data x, attribute shape = (1, 1000)
    Clip(x, "", max)         ->  data x, attribute max = 6.0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autosched.errors import InvalidInput
from autosched.graph.graph import Array, Node
from autosched.graph.structure import describe
from autosched.ops import OPS


@dataclass(frozen=True)
class Bound:
    """A node's data operands by position ("" where there is none) and all of its attributes."""

    inputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    @property
    def operands(self) -> tuple[str, ...]:
        """The data operands that there are, each once."""
        return tuple(dict.fromkeys(name for name in self.inputs if name))


def bind(node: Node, constants: Mapping[str, Array]) -> Bound:
    """The node with its steering inputs as attributes; InvalidInput if one of them is no constant."""
    steering = OPS[node.op].static_inputs
    attributes = dict(node.attributes)
    data: list[str] = []
    for position, tensor in enumerate(node.inputs):
        name = steering.get(position)
        data.append("" if name else tensor)
        if name and tensor:
            if tensor not in constants:
                raise InvalidInput(
                    f"{describe(node)}: {name} is tensor {tensor!r}, which is computed from graph "
                    "inputs; it must be constant"
                )
            attributes[name] = constants[tensor]
    return Bound(tuple(data), attributes)
