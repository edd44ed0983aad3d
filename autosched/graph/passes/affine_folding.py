"""A constant factor or summand a channel after a linear operator goes into its constant weights.

    Mul(Conv(x, W, b), s)    ->  Conv(x, W * s, b * s)        s one number an output channel
    Add(Conv(x, W, b), t)    ->  Conv(x, W, b + t)
    Mul(MatMul(x, W), s)     ->  MatMul(x, W * s)
    Add(Gemm(x, W, c), t)    ->  Gemm(x, W, c + t / beta)

With `batch_norm` this is batch-norm folding. Products are computed in float64 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from autosched.graph.graph import Array, Graph, Node, TensorType


def fold_affine(graph: Graph) -> Graph:
    """The graph with every such factor and summand folded, one after another along a chain."""
    folding = _Folding(graph)
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            folding.add(node)
    return folding.result()


@dataclass(frozen=True)
class Linear:
    """How a linear operator holds its weights: the axis of output channels of the weights and of the result, and
    whether it takes a bias."""

    weight_axis: Callable[[Node, int], int]
    result_axis: Callable[[int], int]
    takes_bias: bool


LINEAR: Mapping[str, Linear] = {
    "Conv": Linear(lambda node, rank: 0, lambda rank: 1, takes_bias=True),
    "Gemm": Linear(
        lambda node, rank: 0 if node.attributes.get("transB", 0) else 1,
        lambda rank: 1,
        takes_bias=True,
    ),
    "MatMul": Linear(lambda node, rank: rank - 1, lambda rank: rank - 1, takes_bias=False),
}
FACTORS = ("Mul", "Div")
SUMMANDS = ("Add", "Sub")


class _Folding:
    """Nodes so far, in which the last producer of each tensor may still be rewritten."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        self.place: dict[str, int] = {}
        self.constants: dict[str, Array] = dict(graph.constants)

    def add(self, node: Node) -> None:
        folded = self._folded(node)
        if folded is None:
            self.place.update(dict.fromkeys(node.makes, len(self.nodes)))
            self.nodes.append(node)
            return
        position, replacement = folded
        self.nodes[position] = replacement
        self.place[replacement.outputs[0]] = position

    def result(self) -> Graph:
        new = {n: a for n, a in self.constants.items() if n not in self.graph.constants}
        types = {n: TensorType(tuple(a.shape), a.dtype.name) for n, a in new.items()}
        return self.graph.with_nodes(tuple(self.nodes), constants=new, types=types)

    def _folded(self, node: Node) -> tuple[int, Node] | None:
        """Where the linear producer stands and what it becomes, if `node` can go into it."""
        if node.op not in FACTORS + SUMMANDS or len(node.inputs) != 2:
            return None
        operand, data = self._operand(node)
        producer = self._linear_producer(data, node)
        if operand is None or producer is None:
            return None
        channels = self._per_channel(operand, producer, node)
        if channels is None:
            return None
        if node.op == "Div":
            channels = 1 / channels
        if node.op == "Sub":
            channels = -channels
        fold = self._scaled if node.op in FACTORS else self._shifted
        replacement = fold(producer, node.outputs[0], channels)
        return None if replacement is None else (self.place[data], replacement)

    def _operand(self, node: Node) -> tuple[Array | None, str]:
        """The constant operand and the name of the other one; Sub and Div take the constant second only."""
        first, second = node.inputs
        if second in self.constants:
            return self.constants[second], first
        if first in self.constants and node.op in ("Mul", "Add"):
            return self.constants[first], second
        return None, first

    def _linear_producer(self, data: str, node: Node) -> Node | None:
        """The linear node that makes `data` for this node alone, from constant weights."""
        if data not in self.place or not self.graph.used_once(data):
            return None
        producer = self.nodes[self.place[data]]
        same = self.graph.types[data] == self.graph.types[node.outputs[0]]
        constant = producer.op in LINEAR and all(
            name in self.constants for name in producer.inputs[1:] if name
        )
        return producer if same and constant else None

    def _per_channel(self, operand: Array, producer: Node, node: Node) -> Array | None:
        """One number an output channel (float64), or None if the operand differs within a channel."""
        shape = self.graph.types[node.outputs[0]].shape
        weight = self.constants[producer.inputs[1]]
        axis = LINEAR[producer.op].result_axis(len(shape))
        if (
            weight.ndim < 2
            or operand.ndim > len(shape)
            or not np.issubdtype(weight.dtype, np.floating)
        ):
            return None
        aligned = (1,) * (len(shape) - operand.ndim) + operand.shape
        if any(extent != 1 for i, extent in enumerate(aligned) if i != axis):
            return None
        return np.broadcast_to(operand.reshape(-1).astype(np.float64), (shape[axis],))

    def _scaled(self, producer: Node, output: str, factor: Array) -> Node | None:
        weight = self.constants[producer.inputs[1]]
        axis = LINEAR[producer.op].weight_axis(producer, weight.ndim)
        along = [1] * weight.ndim
        along[axis] = -1
        inputs = [producer.inputs[0], f"{output}/weight"]
        self.constants[inputs[1]] = (weight * factor.reshape(along)).astype(weight.dtype)
        bias = self._bias(producer)
        if bias is not None:
            inputs.append(f"{output}/bias")
            self.constants[inputs[2]] = _on_channels(bias, producer, factor, np.multiply)
        return replace(producer, inputs=tuple(inputs), outputs=(output,))

    def _shifted(self, producer: Node, output: str, summand: Array) -> Node | None:
        if not LINEAR[producer.op].takes_bias:
            return None
        beta = producer.attributes.get("beta", 1.0) if producer.op == "Gemm" else 1.0
        weight, bias = self.constants[producer.inputs[1]], self._bias(producer)
        if beta == 0:
            return None
        name = f"{output}/bias"
        if bias is None:
            self.constants[name] = (summand / beta).astype(weight.dtype)
        else:
            self.constants[name] = _on_channels(bias, producer, summand / beta, np.add)
        return replace(producer, inputs=(*producer.inputs[:2], name), outputs=(output,))

    def _bias(self, producer: Node) -> Array | None:
        if len(producer.inputs) < 3 or not producer.inputs[2]:
            return None
        return self.constants[producer.inputs[2]]


def _on_channels(
    bias: Array, producer: Node, channels: Array, operation: Callable[[Array, Array], Array]
) -> Array:
    """The operation on a bias, whose last axis is the channel (Gemm's may be [M, N], [N], [1] or a scalar)."""
    return operation(bias.astype(np.float64), channels).astype(bias.dtype)
