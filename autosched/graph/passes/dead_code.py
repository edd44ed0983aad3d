"""Dead code: nodes and constants that no output of the graph needs go.

y = Relu(x); z = Exp(x); return y   ->  y = Relu(x); return y
"""

from __future__ import annotations

from dataclasses import replace

from autosched.graph.graph import Graph, Node


def remove_dead_code(graph: Graph) -> Graph:
    """The graph with what its outputs need. Inputs stay: they are what a caller passes."""
    needed = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if needed.intersection(node.makes):
            kept.append(node)
            needed.update(node.reads)
    known = needed.union(graph.inputs, *(node.makes for node in kept))
    return replace(
        graph,
        nodes=tuple(reversed(kept)),
        constants={n: a for n, a in graph.constants.items() if n in needed},
        types={n: t for n, t in graph.types.items() if n in known},
    )
