"""Constant folding: what depends on constants alone is computed once, within a limit of bytes.

Add(Unsqueeze(c, axes), d)          ->  the constant c[:, None] + d
any tensor with zero elements       ->  an empty constant
"""

from __future__ import annotations

import numpy as np

from autosched.errors import InvalidInput
from autosched.graph import operators
from autosched.graph.form import check_work, form_of
from autosched.graph.graph import Array, Graph, Node, TensorType
from autosched.graph.limits import DEFAULT_LIMITS, ImportLimits
from autosched.graph.structure import describe
from autosched.te.dtype import numpy_dtype


def fold_constants(graph: Graph, *, limits: ImportLimits = DEFAULT_LIMITS) -> Graph:
    """The graph without nodes whose inputs are all constant; InvalidInput beyond `limits.folded_bytes`."""
    folded: dict[str, Array] = {}
    known: dict[str, Array] = {**graph.constants, **_empty_inputs(graph)}
    kept: list[Node] = []
    folded_bytes = 0
    for node in graph.nodes:
        values = _empty_results(node, graph)
        if values is None and all(name in known for name in node.reads):
            folded_bytes += sum(graph.types[name].n_bytes for name in node.makes)
            if folded_bytes > limits.folded_bytes:
                raise InvalidInput(
                    f"{describe(node)} brings the constants to compute to {folded_bytes} bytes: "
                    f"at most {limits.folded_bytes} are allowed"
                )
            check_work(node, form_of(node, graph.types, known), limits.folded_operations)
            results = operators.reference(node, known, known)
            values = dict(zip(node.outputs, results, strict=False))
        if values is None:
            kept.append(node)
        else:
            folded.update({name: array for name, array in values.items() if name})
            known.update(folded)
    return graph.with_nodes(tuple(kept), constants=folded)


def _empty_inputs(graph: Graph) -> dict[str, Array]:
    """Inputs with zero elements: their value is known."""
    types = {name: graph.types[name] for name in graph.inputs}
    return {name: _empty(kind) for name, kind in types.items() if not kind.elements}


def _empty_results(node: Node, graph: Graph) -> dict[str, Array] | None:
    """The results of a node that makes empty tensors only; nothing needs to be computed for them."""
    types = {name: graph.types[name] for name in node.makes}
    if any(kind.elements for kind in types.values()):
        return None
    return {name: _empty(kind) for name, kind in types.items()}


def _empty(kind: TensorType) -> Array:
    return np.zeros(kind.shape, numpy_dtype(kind.dtype))
