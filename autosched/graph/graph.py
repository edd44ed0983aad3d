"""The graph: operators and tensors with shapes and dtypes, frozen.

A graph holds ONNX operators at opset 17 in an order in which producers come first. Every tensor has one producer: a
graph input, a constant or one output of one node. An absent optional input is the empty name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from autosched.ops.operator import TensorType as TensorType

OPSET = 17

Array = Any
"""A NumPy array; its dtype is one of `te.dtype.DTYPES`."""


@dataclass(frozen=True)
class Node:
    """One application of an operator. `attributes` are Python ints, floats, strings, arrays or tuples of them."""

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    domain: str = ""

    @property
    def reads(self) -> tuple[str, ...]:
        """The tensors it reads, absent optional inputs left out."""
        return tuple(name for name in self.inputs if name)

    @property
    def makes(self) -> tuple[str, ...]:
        """The tensors it makes, unnamed optional outputs left out."""
        return tuple(name for name in self.outputs if name)


@dataclass(frozen=True)
class Graph:
    """A typed, checked graph; made by `build_graph` and by passes, which keep the invariants of this module."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    types: Mapping[str, TensorType]
    constants: Mapping[str, Array]

    @cached_property
    def producers(self) -> Mapping[str, Node]:
        """The node that makes each tensor; inputs and constants are not in it."""
        return {name: node for node in self.nodes for name in node.makes}

    @cached_property
    def consumers(self) -> Mapping[str, tuple[Node, ...]]:
        """The nodes that read each tensor, each once, in graph order."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.reads):
                found.setdefault(name, []).append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    def readers(self, tensor: str) -> tuple[Node, ...]:
        """The nodes that read `tensor`."""
        return self.consumers.get(tensor, ())

    def used_once(self, tensor: str) -> bool:
        """Whether exactly one node reads `tensor` and the graph does not return it."""
        return len(self.readers(tensor)) == 1 and tensor not in self.outputs

    def with_nodes(
        self,
        nodes: tuple[Node, ...],
        *,
        constants: Mapping[str, Array] | None = None,
        types: Mapping[str, TensorType] | None = None,
    ) -> Graph:
        """This graph with other nodes; constants and types are added to those there are."""
        return replace(
            self,
            nodes=nodes,
            constants={**self.constants, **(constants or {})},
            types={**self.types, **(types or {})},
        )


@dataclass(frozen=True)
class Draft:
    """A graph as an importer reads it: types of inputs and constants only, nodes in any order.

    `versions` are those of the operator sets the file was written for, by domain ("" is ONNX itself).
    """

    inputs: Mapping[str, TensorType]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, Array]
    versions: Mapping[str, int] = field(default_factory=lambda: {"": OPSET})

    def reads(self) -> Iterator[tuple[Node, str]]:
        """Every (node, tensor it reads)."""
        return ((node, name) for node in self.nodes for name in node.reads)
