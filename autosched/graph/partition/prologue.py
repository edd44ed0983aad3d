"""Which producers are computed where a later reduction reads them, decided once from the last node to the first.

Pad -> Conv, Transpose -> MatMul     movement becomes the index of the reading operator
Mul(x, x) -> ReduceSum               arithmetic, where it is not computed more often than on its own
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autosched.graph.form import Form
from autosched.graph.graph import Graph, Node
from autosched.graph.partition.policy import FusionPolicy


@dataclass(frozen=True)
class Waiting:
    """A node that waits for a reduction: evaluations an element there, and nodes of the line up to it."""

    evaluations: float
    length: int


def identity(node: Node) -> str:
    """What tells nodes of one graph apart: the first tensor it makes (names may repeat)."""
    return node.makes[0]


def prologues(
    graph: Graph, forms: Mapping[str, Form], policy: FusionPolicy
) -> Mapping[str, Waiting | str]:
    """For every node by identity: how it waits, or why it does not."""
    found: dict[str, Waiting | str] = {}
    for node in reversed(graph.nodes):
        found[identity(node)] = _decision(node, graph, forms, policy, found)
    return found


def _decision(
    node: Node,
    graph: Graph,
    forms: Mapping[str, Form],
    policy: FusionPolicy,
    found: Mapping[str, Waiting | str],
) -> Waiting | str:
    form = forms[identity(node)]
    if form.kind in ("reduction", "view"):
        return f"the producer is a {form.kind}"
    if len(node.makes) != 1:
        return f"the producer makes {len(node.makes)} tensors"
    tensor = node.makes[0]
    if not graph.used_once(tensor):
        return fan_out(tensor, graph)
    if form.kind == "movement" and len(form.operands) > 1:
        return "the producer chooses among several arrays"
    waiting = _behind(tensor, graph, forms, found)
    if isinstance(waiting, str):
        return waiting
    if form.operations and waiting.evaluations > policy.max_recomputation:
        return f"each element would be computed {waiting.evaluations:.3g} times"
    if waiting.length >= policy.max_operators:
        return f"the kernel has {waiting.length} operators, the most the policy allows"
    return waiting


def _behind(
    tensor: str, graph: Graph, forms: Mapping[str, Form], found: Mapping[str, Waiting | str]
) -> Waiting | str:
    """How the one consumer of `tensor` would compute it."""
    (consumer,) = graph.readers(tensor)
    target = forms[identity(consumer)]
    if target.kind == "view":
        return "a view stands between"
    reads = target.reads_per_element.get(tensor, 0.0)
    if target.kind == "reduction":
        return Waiting(reads, 1)
    further = found[identity(consumer)]
    if isinstance(further, str):
        return "the consumer is no reduction"
    return Waiting(reads * further.evaluations, further.length + 1)


def fan_out(tensor: str, graph: Graph) -> str:
    """Why a tensor that has not exactly one reader must be stored."""
    if tensor in graph.outputs:
        return "the graph returns it"
    return f"{len(graph.readers(tensor))} operators read it"
