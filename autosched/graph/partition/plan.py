"""The result of a partition: tasks, calls in order, decisions. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from autosched.graph.graph import Array, Graph, TensorType
from autosched.te.workload import Workload

Fusion = Literal["epilogue", "prologue", "chain", "view", "none"]


@dataclass(frozen=True)
class EdgeDecision:
    """One edge of the graph: the tensor from `producer` to `consumer` (names of nodes), fused or not and why.
    `saved_bytes`: memory traffic of one call that fusion removed."""

    tensor: str
    producer: str
    consumer: str
    fusion: Fusion
    reason: str
    saved_bytes: int = 0

    @property
    def fused(self) -> bool:
        return self.fusion != "none"


@dataclass(frozen=True)
class GraphTask:
    """One distinct workload of a graph, called `weight` times. `subgraph` is the unfused form of its first call: its
    inputs are the workload's inputs in order, its outputs the workload's outputs."""

    workload: Workload
    name: str
    weight: int
    subgraph: Graph = field(repr=False)

    @property
    def key(self) -> str:
        """The workload's content key."""
        return self.workload.key


@dataclass(frozen=True)
class Call:
    """One kernel call: arrays by tensor name, in the workload's order; `nodes` are the names of what is fused. Where
    `joins` names tensors, the only output is them one after another: who lets them stand so needs no call."""

    workload_key: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[str, ...]
    joins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """How to run a graph with a kernel a workload: the calls in order.

    A tensor named in `views` has the memory of the tensor it maps to, which is no view itself; shapes are in `types`.
    Outputs may be made by a call, or be graph inputs, constants or views of any of them.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    calls: tuple[Call, ...]
    views: Mapping[str, str]
    types: Mapping[str, TensorType]
    constants: Mapping[str, Array] = field(repr=False)

    def root(self, tensor: str) -> str:
        """The tensor whose memory `tensor` has."""
        return self.views.get(tensor, tensor)


@dataclass(frozen=True)
class Partition:
    """A graph as tasks and a plan, and what was decided about each edge."""

    graph: Graph = field(repr=False)
    tasks: tuple[GraphTask, ...]
    plan: Plan
    edges: tuple[EdgeDecision, ...]

    def task(self, workload_key: str) -> GraphTask:
        """The task of a workload; KeyError if the graph has none."""
        for task in self.tasks:
            if task.key == workload_key:
                return task
        raise KeyError(f"no task has the workload key {workload_key!r}")
