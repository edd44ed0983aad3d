"""The fusion plan of a graph, edge by edge: what `autosched explain --json` prints."""

from __future__ import annotations

from pydantic import BaseModel

from autosched.graph.partition.plan import Partition


class EdgeDocument(BaseModel):
    """One tensor from a producer to a consumer. `saved_bytes`: memory traffic that fusion removed."""

    tensor: str
    producer: str
    consumer: str
    fused: bool
    fusion: str
    reason: str
    saved_bytes: int


class WorkloadDocument(BaseModel):
    """One distinct workload, called `weight` times; `calls` name the graph nodes of each call."""

    name: str
    workload_key: str
    weight: int
    calls: list[list[str]]


class ExplainDocument(BaseModel):
    workloads: list[WorkloadDocument]
    edges: list[EdgeDocument]


def explain_document(partition: Partition) -> ExplainDocument:
    calls: dict[str, list[list[str]]] = {}
    for call in partition.plan.calls:
        calls.setdefault(call.workload_key, []).append(list(call.nodes))
    return ExplainDocument(
        workloads=[
            WorkloadDocument(
                name=t.name, workload_key=t.key, weight=t.weight, calls=calls.get(t.key, [])
            )
            for t in partition.tasks
        ],
        edges=[EdgeDocument.model_validate(e, from_attributes=True) for e in partition.edges],
    )
