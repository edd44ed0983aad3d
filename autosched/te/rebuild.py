"""Rebuilding a workload with every stage replaced: the frame that all rewrites of workloads share.

Records are compared by identity, so a changed producer means new readers. A rewrite says what each
input and each stage becomes; `Rebuilt` keeps which new tensor stands for which old one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from autosched.te.expr import Expr, Load, transform
from autosched.te.workload import Stage, Tensor, Workload, stage_tensors

TensorKey = tuple[int, int]
LoadRule = Callable[[Load, Tensor], Expr]


def tensor_key(tensor: Tensor) -> TensorKey:
    """Identity of an array: of the input, or of the stage and the component."""
    return (id(tensor), 0) if tensor.stage is None else (id(tensor.stage), tensor.component)


@dataclass
class Rebuilt:
    """New tensors by the key of the old ones."""

    tensors: dict[TensorKey, Tensor] = field(default_factory=dict)

    def of(self, tensor: Tensor) -> Tensor:
        return self.tensors[tensor_key(tensor)]

    def add_stage(self, old: Stage, tensors: tuple[Tensor, ...]) -> None:
        for component, tensor in enumerate(tensors):
            self.tensors[id(old), component] = tensor

    def value(self, expression: Expr, rule: LoadRule | None = None) -> Expr:
        """The expression reading new tensors; `rule(load, new source)` where indices change too."""

        def leaf(node: Expr) -> Expr:
            if not isinstance(node, Load) or not isinstance(node.source, Tensor):
                return node
            source = self.of(node.source)
            return rule(node, source) if rule else Load(source, node.indices)

        return transform(expression, leaf)


def rebuild(
    workload: Workload,
    stage: Callable[[Stage, Rebuilt], Stage],
    new_input: Callable[[Tensor], Tensor] = lambda tensor: tensor,
) -> Workload:
    """The workload with `new_input(t)` for every input and `stage(s, rebuilt)` for every stage."""
    rebuilt = Rebuilt({tensor_key(t): new_input(t) for t in workload.inputs})
    for old in workload.stages:
        rebuilt.add_stage(old, stage_tensors(stage(old, rebuilt)))
    return finished(workload, rebuilt)


def finished(workload: Workload, rebuilt: Rebuilt) -> Workload:
    inputs = tuple(rebuilt.of(t) for t in workload.inputs)
    return Workload(workload.name, inputs, tuple(rebuilt.of(t) for t in workload.outputs))
