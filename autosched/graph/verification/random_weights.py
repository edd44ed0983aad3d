"""Constant-filled weights -> random ones, so that a wrong kernel cannot hide behind equal numbers.

Conv(x, [0.02, 0.02, ...])   ->   Conv(x, normal * sqrt(2 / fan-in))        He et al. 2015
batch-norm variance [1, ...] ->   uniform in [0.5, 1.5)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import onnx
from numpy.random import Generator
from onnx import numpy_helper

from autosched.graph.binding import bind
from autosched.graph.form import VIEWS
from autosched.graph.graph import Array, Graph, Node
from autosched.te.dtype import is_float

Draw = Callable[[Generator, tuple[int, ...]], Array]

PASSED_ON = (*VIEWS, "Transpose")
"""Operators behind which the weight is the same numbers."""


def random_weights(graph: Graph, rng: Generator) -> dict[str, Array]:
    """A random array for every constant-filled float weight of a graph as imported, by name."""
    return {
        name: drawn(rng, array.shape).astype(array.dtype)
        for name, array in sorted(graph.constants.items())
        if is_constant_filled(array) and (drawn := _draw_for(name, graph)) is not None
    }


def is_constant_filled(array: Array) -> bool:
    """Whether a float array of two or more elements holds one number only."""
    return is_float(array.dtype.name) and array.size > 1 and bool(np.all(array == array.flat[0]))


def with_weights(graph: Graph, weights: Mapping[str, Array]) -> Graph:
    """The graph with other constants."""
    return replace(graph, constants={**graph.constants, **weights})


def model_with_weights(model: onnx.ModelProto, weights: Mapping[str, Array]) -> onnx.ModelProto:
    """A copy of an ONNX model in which these tensors are initializers, whatever made them before."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    nodes = [n for n in graph.node if not weights.keys() & set(n.output)]
    kept = [t for t in graph.initializer if t.name not in weights]
    new = [numpy_helper.from_array(np.ascontiguousarray(a), n) for n, a in weights.items()]
    del graph.node[:]
    del graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend([*kept, *new])
    return changed


def _draw_for(tensor: str, graph: Graph) -> Draw | None:
    """How the first operator that works on a constant wants it drawn; None if none does."""
    for node in graph.readers(tensor):
        if node.op in PASSED_ON:
            draw = _draw_for(node.makes[0], graph)
            if draw is not None:
                return draw
        elif tensor in bind(node, graph.constants).operands:
            return _role(node, tensor)
    return None


def _role(node: Node, tensor: str) -> Draw:
    if node.op == "Gemm" and node.inputs.index(tensor) == 1:
        summed = 1 if node.attributes.get("transB", 0) else 0
        return _he(lambda shape: shape[summed])
    return ROLES.get((node.op, node.inputs.index(tensor)), ROLES.get((node.op, -1), _he_matrix))


def _he(fan_in_of: Callable[[tuple[int, ...]], int]) -> Draw:
    def draw(rng: Generator, shape: tuple[int, ...]) -> Array:
        return rng.standard_normal(shape) * math.sqrt(2 / max(1, fan_in_of(shape)))

    return draw


def _near_one(rng: Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(0.5, 1.5, shape)


def _small(rng: Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape) * 0.1


_he_filter = _he(lambda shape: math.prod(shape[1:]))
_he_matrix = _he(lambda shape: shape[-2] if len(shape) > 1 else shape[0])

ROLES: Mapping[tuple[str, int], Draw] = {
    ("Conv", 1): _he_filter,
    ("Conv", 2): _small,
    ("ConvTranspose", 1): _he(lambda shape: shape[0]),
    ("Gemm", 2): _small,
    ("MatMul", 0): _he_matrix,
    ("MatMul", 1): _he_matrix,
    ("BatchNormalization", 1): _near_one,
    ("BatchNormalization", 2): _small,
    ("BatchNormalization", 3): _small,
    ("BatchNormalization", 4): _near_one,
    ("LayerNormalization", 1): _near_one,
    ("LayerNormalization", 2): _small,
    ("Mul", -1): _near_one,
    ("Div", -1): _near_one,
    ("Add", -1): _small,
    ("Sub", -1): _small,
    ("Sum", -1): _small,
}
"""(Operator, position of the operand; -1 any) -> distribution. Everything else is drawn He-scaled as a matrix."""
