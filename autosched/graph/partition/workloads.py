"""A group of nodes -> one workload, with the unfused subgraph it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autosched.graph import operators
from autosched.graph.binding import bind
from autosched.graph.graph import Graph
from autosched.graph.partition.grouping import Group
from autosched.te.canonical import canonical
from autosched.te.workload import Tensor, Workload, placeholder


@dataclass(frozen=True)
class GroupWorkload:
    """The canonical workload of a group, the graph tensors that are its inputs and outputs in order, and the group as
    a graph of its own with the same inputs and outputs."""

    workload: Workload
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    subgraph: Graph


def workload_of(group: Group, graph: Graph) -> GroupWorkload:
    """The workload that computes a group's outputs from what it reads of others."""
    made = {name for node in group.nodes for name in node.makes}
    read = dict.fromkeys(
        name
        for node in group.nodes
        for name in bind(node, graph.constants).operands
        if name not in made
    )
    inputs = {name: _placeholder(name, graph) for name in read}
    tensors: dict[str, Tensor] = dict(inputs)
    for node in group.nodes:
        results = operators.expressions(node, tensors, graph.constants)
        tensors.update({n: t for n, t in zip(node.outputs, results, strict=False) if n})
    outputs = tuple(tensors[name] for name in group.outputs)
    used = _used(inputs, outputs)
    workload = Workload(name_of(group, graph), tuple(inputs[n] for n in used), outputs)
    return GroupWorkload(canonical(workload), used, group.outputs, _subgraph(group, used, graph))


def name_of(group: Group, graph: Graph) -> str:
    """A name for people: operators in order, the shape of the result and the anchor, `Conv+Relu 1x64x56x56 n4`."""
    ops = "+".join(node.op for node in group.nodes)
    shape = "x".join(map(str, graph.types[group.outputs[0]].shape)) or "scalar"
    return f"{ops} {shape} {group.anchor.name}"


def _placeholder(name: str, graph: Graph) -> Tensor:
    kind = graph.types[name]
    return placeholder(name, kind.shape, kind.dtype, constant=name in graph.constants)


def _used(inputs: Mapping[str, Tensor], outputs: Sequence[Tensor]) -> tuple[str, ...]:
    """The inputs that the expressions really read; an operator may ignore one."""
    stages = Workload("reads", tuple(inputs.values()), tuple(outputs)).stages
    sources = {id(load.source) for stage in stages for load in stage.loads}
    return tuple(name for name, tensor in inputs.items() if id(tensor) in sources)


def _subgraph(group: Group, inputs: tuple[str, ...], graph: Graph) -> Graph:
    """The group alone. What steers operators stays constant; weights are inputs, as they are of the workload."""
    read = {name for node in group.nodes for name in node.reads}
    touched = read | {name for node in group.nodes for name in node.makes}
    return Graph(
        inputs=inputs,
        outputs=group.outputs,
        nodes=group.nodes,
        types={name: graph.types[name] for name in touched},
        constants={n: a for n, a in graph.constants.items() if n in read and n not in inputs},
    )
