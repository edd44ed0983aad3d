"""Draft -> graph: structure checked, types inferred, shape arithmetic folded, sizes within limits.

One walk, producers first. A node whose inputs are all constant and whose results are small becomes constants at once,
because its value may be the shape of another tensor. Unknown operators are collected and reported together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from autosched.errors import InvalidInput
from autosched.graph import operators
from autosched.graph.compile_time import COMPILE_TIME
from autosched.graph.form import check_work, form_of
from autosched.graph.graph import Array, Draft, Graph, Node, TensorType
from autosched.graph.limits import DEFAULT_LIMITS, ImportLimits, check_size
from autosched.graph.structure import check_structure, describe


def build_graph(draft: Draft, *, limits: ImportLimits = DEFAULT_LIMITS) -> Graph:
    """The graph of a draft at opset 17; InvalidInput if the draft breaks a rule."""
    walk = _Walk(draft, limits)
    for node in check_structure(draft, limits):
        walk.add(node)
    walk.refuse_unknown()
    return Graph(
        inputs=tuple(draft.inputs),
        outputs=draft.outputs,
        nodes=tuple(walk.nodes),
        types=walk.types,
        constants=walk.constants,
    )


@dataclass
class _Walk:
    """The state of the walk: what is known about tensors so far."""

    draft: Draft
    limits: ImportLimits
    nodes: list[Node] = field(default_factory=list)
    types: dict[str, TensorType] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    unknown: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.types.update(self.draft.inputs)
        for name, array in self.draft.constants.items():
            self._add_constant(name, array)

    def add(self, node: Node) -> None:
        """One node more; its producers have been added."""
        compile_time = COMPILE_TIME.get(node.op) if not node.domain else None
        if compile_time is None and not operators.is_known(node):
            self.unknown.append(node)
        elif not all(name in self.types for name in node.reads):
            return  # behind an unknown operator
        elif compile_time is not None:
            result = compile_time(node, self.types, self.constants, self.limits)
            self._add_constant(node.outputs[0], result)
        else:
            self._add_known(node)

    def _add_known(self, node: Node) -> None:
        types = operators.infer(node, self.types, self.constants)
        node = self._without_extra_outputs(node, len(types))
        results = dict(zip(node.outputs, types, strict=False))
        results.pop("", None)
        for name, kind in results.items():
            check_size(name, kind, self.limits)
        self._check_together(node, results)
        small = sum(t.n_bytes for t in results.values()) <= self.limits.eager_bytes
        if small and all(name in self.constants for name in node.reads):
            form = form_of(node, self.types, self.constants)
            check_work(node, form, self.limits.folded_operations)
            values = operators.reference(node, self.constants, self.constants)
            for name, value in zip(node.outputs, values, strict=False):
                if name:
                    self._add_constant(name, value)
            return
        self.types.update(results)
        self.nodes.append(node)

    def _without_extra_outputs(self, node: Node, known: int) -> Node:
        """The node with the outputs that its operator is known to make; others must be unused."""
        extra = {name for name in node.outputs[known:] if name}
        used = {*self.draft.outputs, *(name for _, name in self.draft.reads())} if extra else set()
        if extra & used:
            raise InvalidInput(
                f"{describe(node)} makes {sorted(extra & used)}, which is used: "
                f"only its first {known} outputs are known"
            )
        return replace(node, outputs=node.outputs[:known])

    def _add_constant(self, name: str, array: Array) -> None:
        self.constants[name] = array
        self.types[name] = TensorType(tuple(array.shape), array.dtype.name)

    def _check_together(self, node: Node, results: dict[str, TensorType]) -> None:
        needed = sum(self.types[n].n_bytes for n in node.reads) + sum(
            t.n_bytes for t in results.values()
        )
        if needed > self.limits.tensor_bytes:
            raise InvalidInput(
                f"{describe(node)} reads and writes {needed} bytes: "
                f"more than the {self.limits.tensor_bytes} bytes of memory allowed"
            )

    def refuse_unknown(self) -> None:
        """InvalidInput that lists every node with an unknown operator."""
        if not self.unknown:
            return
        lines = [self._unknown_line(node) for node in self.unknown]
        raise InvalidInput(
            f"{len(lines)} node{'s' * (len(lines) > 1)} with an unknown operator:\n"
            + "\n".join(lines)
        )

    def _unknown_line(self, node: Node) -> str:
        reads = ", ".join(f"{n} {self.types.get(n, 'of unknown shape')}" for n in node.reads)
        domain = node.domain or "ai.onnx"
        version = self.draft.versions.get(node.domain, "?")
        return f"  {node.op} ({domain}, version {version}) at node {node.name!r}: reads {reads or 'nothing'}"
