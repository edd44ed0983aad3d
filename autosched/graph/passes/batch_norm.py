"""Batch-norm with constant statistics -> one scale and one shift a channel.

    BatchNormalization(x, gamma, beta, mean, var) {epsilon}
        ->  Add(Mul(x, s), t)   with  s = gamma / sqrt(var + epsilon),  t = beta - mean * s

`s` and `t` have the shape [C, 1, ...], so that they broadcast over x [N, C, ...].
"""

from __future__ import annotations

import numpy as np

from autosched.graph.graph import Array, Graph, Node, TensorType

DEFAULT_EPSILON = 1e-5


def lower_batch_norm(graph: Graph) -> Graph:
    """The graph with every batch-norm of constant statistics as a product and a sum."""
    nodes: list[Node] = []
    constants: dict[str, Array] = {}
    types: dict[str, TensorType] = {}
    for node in graph.nodes:
        statistics = [graph.constants.get(name) for name in node.inputs[1:5]]
        if node.op != "BatchNormalization" or any(s is None for s in statistics):
            nodes.append(node)
            continue
        x, y = node.inputs[0], node.outputs[0]
        scale, shift = _scale_and_shift(statistics, node, len(graph.types[x].shape))
        names = f"{y}/scale", f"{y}/shift", f"{y}/scaled"
        constants |= {names[0]: scale, names[1]: shift}
        types |= {n: TensorType(tuple(c.shape), c.dtype.name) for n, c in constants.items()}
        types[names[2]] = graph.types[y]
        nodes.append(Node(f"{node.name}/scale", "Mul", (x, names[0]), (names[2],)))
        nodes.append(Node(f"{node.name}/shift", "Add", (names[2], names[1]), (y,)))
    return graph.with_nodes(tuple(nodes), constants=constants, types=types)


def _scale_and_shift(statistics: list[Array], node: Node, rank: int) -> tuple[Array, Array]:
    """Computed in float64, rounded once to the dtype of gamma."""
    gamma, beta, mean, variance = (np.asarray(s, np.float64) for s in statistics)
    with np.errstate(all="ignore"):
        scale = gamma / np.sqrt(variance + node.attributes.get("epsilon", DEFAULT_EPSILON))
        shift = beta - mean * scale
    shape = (-1,) + (1,) * (rank - 2)
    dtype = statistics[0].dtype
    with np.errstate(all="ignore"):
        return scale.reshape(shape).astype(dtype), shift.reshape(shape).astype(dtype)
