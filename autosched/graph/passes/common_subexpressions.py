"""Common subexpressions: the same operator on the same tensors is computed once.

a = Relu(x); b = Relu(x); Add(a, b)  ->  a = Relu(x); Add(a, a)
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from autosched.graph.graph import Graph, Node

Identity = tuple[Hashable, ...]


def merge_common_subexpressions(graph: Graph) -> Graph:
    """The graph in which no two nodes compute the same from the same, save those that make graph outputs."""
    alias: dict[str, str] = {}
    seen: dict[Identity, Node] = {}
    kept: list[Node] = []
    for original in graph.nodes:
        node = replace(original, inputs=tuple(alias.get(name, name) for name in original.inputs))
        first = seen.setdefault(_identity(node), node)
        same_outputs = [bool(a) for a in first.outputs] == [bool(b) for b in node.outputs]
        if first is node or not same_outputs or set(node.makes) & set(graph.outputs):
            kept.append(node)
        else:
            alias.update(zip(node.makes, first.makes, strict=True))
    return graph.with_nodes(tuple(kept))


def _identity(node: Node) -> Identity:
    attributes = tuple((k, _hashable(v)) for k, v in sorted(node.attributes.items()))
    return (node.domain, node.op, node.inputs, attributes)


def _hashable(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape, value.tobytes()
    return tuple(value) if isinstance(value, list) else value
