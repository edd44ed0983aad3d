"""Identities: nodes that hand their first input on as it is.

Relu(Identity(x))  ->  Relu(x)
also Cast to its own dtype, Reshape to its own shape, Transpose in the given order, Sum and Concat of one
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from autosched.graph.graph import Graph, Node


def remove_identities(graph: Graph) -> Graph:
    """The graph without identities; an output that was one takes over the name of its tensor."""
    alias: dict[str, str] = {}
    kept: list[Node] = []
    for original in graph.nodes:
        node = _reading(original, alias)
        if not is_identity(node, graph):
            kept.append(node)
        elif node.outputs[0] not in graph.outputs:
            alias[node.outputs[0]] = node.inputs[0]
        else:
            kept.append(replace(node, op="Identity", inputs=node.inputs[:1], attributes={}))
    return graph.with_nodes(tuple(_taken_over(kept, graph)))


def is_identity(node: Node, graph: Graph) -> bool:
    """Whether the node's first output equals its first input, in type and in every element."""
    test = TESTS.get(node.op)
    same = graph.types[node.outputs[0]] == graph.types[node.inputs[0]] if node.makes else False
    return same and len(node.makes) == 1 and test is not None and test(node)


TESTS: Mapping[str, Callable[[Node], bool]] = {
    "Identity": lambda node: True,
    "Cast": lambda node: True,
    "Reshape": lambda node: True,
    "Flatten": lambda node: True,
    "Squeeze": lambda node: True,
    "Unsqueeze": lambda node: True,
    "Expand": lambda node: True,
    "Sum": lambda node: len(node.inputs) == 1,
    "Concat": lambda node: len(node.inputs) == 1,
    "Max": lambda node: len(node.inputs) == 1,
    "Min": lambda node: len(node.inputs) == 1,
    "Transpose": lambda node: _in_order(node.attributes.get("perm")),
}
"""Operator -> whether a node of it, whose result has the type of its first input, changes nothing."""


def _in_order(perm: tuple[int, ...] | None) -> bool:
    return perm is not None and tuple(perm) == tuple(range(len(perm)))


def _reading(node: Node, alias: Mapping[str, str]) -> Node:
    return replace(node, inputs=tuple(alias.get(name, name) for name in node.inputs))


def _taken_over(nodes: list[Node], graph: Graph) -> list[Node]:
    """Identities that make a graph output: where a node makes their input, it makes the output instead."""
    made = {name for node in nodes for name in node.makes}
    rename: dict[str, str] = {}
    kept: list[Node] = []
    for node in nodes:
        source = node.inputs[0] if node.inputs else ""
        can = source in made and source not in graph.outputs and source not in rename
        if node.op == "Identity" and can:
            rename[source] = node.outputs[0]
        else:
            kept.append(node)
    return [
        replace(
            _reading(node, rename), outputs=tuple(rename.get(name, name) for name in node.outputs)
        )
        for node in kept
    ]
