"""Graph -> partition: group, build workloads, merge equal ones, write the plan."""

from __future__ import annotations

from autosched.graph.graph import Graph
from autosched.graph.partition.explanation import explain_edges
from autosched.graph.partition.grouping import group_nodes
from autosched.graph.partition.joins import joined_tensors
from autosched.graph.partition.plan import Call, GraphTask, Partition, Plan
from autosched.graph.partition.policy import DEFAULT_POLICY, FusionPolicy
from autosched.graph.partition.workloads import GroupWorkload, workload_of


def partition(graph: Graph, policy: FusionPolicy = DEFAULT_POLICY) -> Partition:
    """The tasks, plan and edge decisions of a simplified graph."""
    grouping = group_nodes(graph, policy)
    built = [workload_of(group, graph) for group in grouping.groups]
    calls = tuple(
        Call(
            b.workload.key,
            b.inputs,
            b.outputs,
            tuple(n.name for n in group.nodes),
            joined_tensors(group, graph),
        )
        for b, group in zip(built, grouping.groups, strict=True)
    )
    plan = Plan(
        graph.inputs, graph.outputs, calls, grouping.views, graph.types, _used(graph, calls)
    )
    return Partition(graph, _tasks(built), plan, explain_edges(grouping, graph))


def _tasks(built: list[GroupWorkload]) -> tuple[GraphTask, ...]:
    """Distinct workloads in the order of their first call; the weight counts the calls."""
    weights: dict[str, int] = {}
    first: dict[str, GroupWorkload] = {}
    for b in built:
        weights[b.workload.key] = weights.get(b.workload.key, 0) + 1
        first.setdefault(b.workload.key, b)
    return tuple(
        GraphTask(b.workload, b.workload.name, weights[key], b.subgraph) for key, b in first.items()
    )


def _used(graph: Graph, calls: tuple[Call, ...]) -> dict[str, object]:
    """The constants that calls read or the graph returns."""
    names = {name for call in calls for name in call.inputs} | set(graph.outputs)
    return {name: array for name, array in graph.constants.items() if name in names}
