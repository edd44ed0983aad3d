"""Concatenations that are only a matter of where their operands stand.

Concat(a: 1x64x55x55, b: 1x64x55x55, axis=1)   ->   memory: [a][b]
"""

from __future__ import annotations

from autosched.graph.graph import Graph
from autosched.graph.partition.grouping import Group


def joined_tensors(group: Group, graph: Graph) -> tuple[str, ...]:
    """The tensors that, one after another in memory, are the result of a group; none if it computes anything, or if
    its parts alternate."""
    node = group.nodes[-1]
    if len(group.nodes) > 1 or node.op != "Concat":
        return ()
    shape = graph.types[node.makes[0]].shape
    if any(n != 1 for n in shape[: node.attributes["axis"] % len(shape)]):
        return ()
    return tuple(name for name in node.reads if graph.types[name].elements)
