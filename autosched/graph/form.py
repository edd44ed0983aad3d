"""What an operator's tensor expression is like, seen from fusion: read off the expression, not the operator's name.

pointwise   every element reads its operands at its own index, or broadcast:  Add, Relu, Clip
movement    reads elsewhere, computes nothing:                                Transpose, Slice, Pad, Concat
gather      reads elsewhere and computes:                                     (none of today's operators alone)
reduction   combines many elements:                                           Conv, MatMul, pooling, Softmax
view        the same elements in the same order, another shape:               Reshape, Flatten
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from autosched.errors import InvalidInput
from autosched.graph import operators
from autosched.graph.binding import bind
from autosched.graph.graph import Array, Node, TensorType
from autosched.graph.structure import describe
from autosched.te.expr import Load
from autosched.te.workload import Axis, Stage, Tensor, Workload, placeholder

Kind = Literal["pointwise", "movement", "gather", "reduction", "view"]

VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")


@dataclass(frozen=True)
class Form:
    """Kind, operations of one call, expressions evaluated for it, data operands, and how often each of their elements
    is read on average."""

    kind: Kind
    operations: int
    evaluations: int
    operands: tuple[str, ...]
    reads_per_element: Mapping[str, float]


def form_of(node: Node, types: Mapping[str, TensorType], constants: Mapping[str, Array]) -> Form:
    """The form of a node whose operands have these types, steered by these constants."""
    operands = bind(node, constants).operands
    if _is_view(node, types):
        return Form("view", 0, 0, operands, dict.fromkeys(operands, 1.0))
    tensors = {n: placeholder(n, types[n].shape, types[n].dtype) for n in operands}
    outputs = operators.expressions(node, tensors, constants)
    workload = Workload(node.name, tuple(tensors.values()), outputs)
    operations = sum(s.evaluations * s.operations for s in workload.stages)
    evaluations = sum(s.evaluations for s in workload.stages)
    kind = _kind(workload.stages, operations)
    return Form(kind, operations, evaluations, operands, _reads(workload.stages, tensors))


def check_work(node: Node, form: Form, limit: int) -> None:
    """InvalidInput if computing the node takes more evaluations than `limit`."""
    if form.evaluations > limit:
        raise InvalidInput(
            f"{describe(node)} takes {form.evaluations} evaluations: at most {limit} are allowed"
        )


def _is_view(node: Node, types: Mapping[str, TensorType]) -> bool:
    if node.op == "Transpose":
        shape = types[node.inputs[0]].shape
        perm = node.attributes.get("perm", tuple(reversed(range(len(shape)))))
        moved = [axis for axis in perm if shape[axis] != 1]
        return moved == sorted(moved)
    return node.op in VIEWS


def _kind(stages: Sequence[Stage], operations: int) -> Kind:
    if any(stage.is_reduction for stage in stages):
        return "reduction"
    if all(_is_pointwise(stage) for stage in stages):
        return "pointwise"
    return "gather" if operations else "movement"


def _is_pointwise(stage: Stage) -> bool:
    return all(_is_aligned(load, stage.axes) for load in stage.loads)


def _is_aligned(load: Load, axes: tuple[Axis, ...]) -> bool:
    """Whether the load reads at the stage's own index, trailing dimensions aligned, a dimension of 1 broadcast."""
    if len(load.indices) > len(axes):
        return False
    own = axes[len(axes) - len(load.indices) :]
    return all(
        index is axis.symbol or (index.is_constant and extent.is_constant and extent.value == 1)
        for index, extent, axis in zip(load.indices, load.source.shape, own, strict=True)
    )


def _reads(stages: Sequence[Stage], tensors: Mapping[str, Tensor]) -> dict[str, float]:
    counts = dict.fromkeys(tensors, 0)
    for stage in stages:
        for load in stage.loads:
            for name, tensor in tensors.items():
                if load.source is tensor:
                    counts[name] += stage.evaluations
    return {name: counts[name] / max(1, tensors[name].elements) for name in tensors}
