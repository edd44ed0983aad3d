"""What the graph asks of the operator table: result types, NumPy values and tensor expressions of a node."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from autosched.graph.binding import bind
from autosched.graph.graph import Array, Node, TensorType
from autosched.ops import OPS
from autosched.te.workload import Tensor


def is_known(node: Node) -> bool:
    """Whether the operator table has the node's operator."""
    return not node.domain and node.op in OPS


def infer(
    node: Node, types: Mapping[str, TensorType], constants: Mapping[str, Array]
) -> tuple[TensorType, ...]:
    """Types of the node's outputs; InvalidInput names the node whose operands do not fit."""
    bound = bind(node, constants)
    operands = tuple(types[n] if n else None for n in bound.inputs)
    return OPS[node.op].inferred(operands, bound.attributes, f"node {node.name!r}")


def reference(
    node: Node, values: Mapping[str, Array], constants: Mapping[str, Array]
) -> tuple[Array, ...]:
    """The node's outputs by its NumPy reference."""
    bound = bind(node, constants)
    arrays = tuple(values[n] if n else None for n in bound.inputs)
    with np.errstate(all="ignore"):
        results = OPS[node.op].reference(arrays, OPS[node.op].complete(bound.attributes))
    return tuple(np.asarray(array) for array in results)


def expressions(
    node: Node, tensors: Mapping[str, Tensor], constants: Mapping[str, Array]
) -> tuple[Tensor, ...]:
    """The node's outputs as tensor expressions over `tensors`."""
    bound = bind(node, constants)
    operands = tuple(tensors[n] if n else None for n in bound.inputs)
    return OPS[node.op].te(operands, OPS[node.op].complete(bound.attributes))
