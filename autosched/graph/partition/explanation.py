"""Grouping -> one decision an edge: fused or not, why, and the bytes of traffic saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autosched.graph.graph import Graph, Node
from autosched.graph.partition.grouping import Group, Grouping
from autosched.graph.partition.plan import EdgeDecision, Fusion
from autosched.graph.partition.prologue import identity


def explain_edges(grouping: Grouping, graph: Graph) -> tuple[EdgeDecision, ...]:
    """The decisions about every tensor that one node makes and another reads, in graph order."""
    group_of = {identity(n): g for g in grouping.groups for n in g.nodes}
    return tuple(_decision(edge, grouping, group_of, graph) for edge in _edges(graph))


@dataclass(frozen=True)
class _Edge:
    tensor: str
    producer: Node
    consumer: Node


def _edges(graph: Graph) -> Iterator[_Edge]:
    for producer in graph.nodes:
        for tensor in producer.makes:
            for consumer in graph.readers(tensor):
                yield _Edge(tensor, producer, consumer)


def _decision(
    edge: _Edge, grouping: Grouping, group_of: Mapping[str, Group], graph: Graph
) -> EdgeDecision:
    names = edge.tensor, edge.producer.name, edge.consumer.name
    if edge.tensor in grouping.views:
        return EdgeDecision(*names, "view", "the same memory in another shape")
    if grouping.forms[identity(edge.consumer)].kind == "view":
        return EdgeDecision(*names, "view", "read as the same memory in another shape")
    group = group_of[identity(edge.producer)]
    if group_of[identity(edge.consumer)] is not group:
        key = edge.tensor, identity(edge.consumer)
        return EdgeDecision(
            *names, "none", grouping.refusals.get(key, "the consumer starts a kernel")
        )
    times = 1 if edge.tensor in group.outputs else 2
    saved = times * graph.types[edge.tensor].n_bytes
    return EdgeDecision(*names, *_kind(edge, group, grouping), saved)


def _kind(edge: _Edge, group: Group, grouping: Grouping) -> tuple[Fusion, str]:
    order = [identity(n) for n in group.nodes]
    anchor = order.index(identity(group.anchor))
    if order.index(identity(edge.producer)) < anchor:
        return "prologue", "computed where the consumer reads it"
    if grouping.forms[identity(group.anchor)].kind == "reduction":
        return "epilogue", f"computed on the results of {group.anchor.op} before they are stored"
    return "chain", "computed element by element in one pass"
