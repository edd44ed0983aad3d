"""The NumPy meaning of a graph, operator by operator: independent of tensor expressions and of fusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autosched.errors import InvalidInput
from autosched.graph import operators
from autosched.graph.graph import Array, Graph


def reference_outputs(graph: Graph, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs of a graph (or of a task's `subgraph`) for its inputs in order."""
    if len(inputs) != len(graph.inputs):
        raise InvalidInput(f"the graph has {len(graph.inputs)} inputs, {len(inputs)} were given")
    values = reference_values(graph, dict(zip(graph.inputs, inputs, strict=True)))
    return tuple(values[name] for name in graph.outputs)


def reference_values(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Every tensor of a graph by name, for inputs by name."""
    values: dict[str, Array] = {**graph.constants, **inputs}
    for node in graph.nodes:
        results = operators.reference(node, values, graph.constants)
        values.update({n: a for n, a in zip(node.outputs, results, strict=False) if n})
    return values
