"""Which operators share a kernel.

One walk in graph order. A node that is not taken yet starts a group (the anchor) and takes

    prologue   producers that it alone reads and that cost nothing, or nothing twice, to compute where they are read
    epilogue   pointwise consumers, one after another, whose other operands are computed before the anchor

as long as one result leaves the group. A group never waits for a later one, so the groups in order are a schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autosched.graph.form import Form, check_work, form_of
from autosched.graph.graph import Graph, Node
from autosched.graph.limits import DEFAULT_LIMITS
from autosched.graph.partition.policy import FusionPolicy
from autosched.graph.partition.prologue import identity, prologues

Edge = tuple[str, str]


@dataclass(frozen=True)
class Group:
    """Nodes of one kernel in graph order; `outputs` are the tensors that leave it."""

    anchor: Node
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Grouping:
    """Groups in an order in which they can run, views, and why edges (tensor, consumer's first output) stayed open."""

    groups: tuple[Group, ...]
    views: Mapping[str, str]
    refusals: Mapping[Edge, str]
    forms: Mapping[str, Form]


def group_nodes(graph: Graph, policy: FusionPolicy) -> Grouping:
    """The groups of a graph under a policy."""
    walk = _Walk(graph, policy)
    for node in graph.nodes:
        walk.visit(node)
    return Grouping(tuple(walk.groups), walk.views, walk.refusals, walk.forms)


class _Walk:
    def __init__(self, graph: Graph, policy: FusionPolicy) -> None:
        self.graph = graph
        self.policy = policy
        self.forms = {identity(n): _checked_form(n, graph) for n in graph.nodes}
        self.decisions = prologues(graph, self.forms, policy)
        self.available = {*graph.inputs, *graph.constants}
        self.taken: set[str] = set()
        self.groups: list[Group] = []
        self.views: dict[str, str] = {}
        self.refusals: dict[Edge, str] = {}

    def form(self, node: Node) -> Form:
        return self.forms[identity(node)]

    def visit(self, node: Node) -> None:
        if identity(node) in self.taken:
            return
        if self.form(node).kind == "view":
            source = node.inputs[0]
            self.views[node.outputs[0]] = self.views.get(source, source)
            self.available.update(node.makes)
        elif not self._waits(node):
            self._close(node)

    def _close(self, anchor: Node) -> None:
        """Forms the group of an anchor and marks what it makes as available."""
        members = [*self._prologue(anchor), anchor]
        members = self._with_epilogue(members)
        group = Group(anchor, tuple(members), self._leaving(members))
        self.groups.append(group)
        self.taken.update(identity(n) for n in members)
        self.available.update(t for n in members for t in n.makes)

    def _prologue(self, node: Node) -> list[Node]:
        """The untaken producers that wait for `node`, theirs before them."""
        found: list[Node] = []
        for tensor in self.form(node).operands:
            producer = self.graph.producers.get(tensor)
            if producer is not None and tensor not in self.available:
                found += [*self._prologue(producer), producer]
        return found

    def _waits(self, node: Node) -> bool:
        """Whether `node` is left to the reduction that reads it; the reason against is kept for its edges."""
        decision = self.decisions[identity(node)]
        if isinstance(decision, str):
            for tensor in node.makes:
                for consumer in self.graph.readers(tensor):
                    self.refusals.setdefault((tensor, identity(consumer)), decision)
        return not isinstance(decision, str)

    def _with_epilogue(self, members: list[Node]) -> list[Node]:
        """The members and the longest run of pointwise consumers after which no more results leave than before."""
        allowed = max(1, len(self._leaving(members)))
        shape = self.graph.types[members[-1].makes[0]].shape
        grown = list(members)
        kept = len(members)
        while (candidate := self._next_epilogue(grown, shape)) is not None:
            grown.append(candidate)
            if len(self._leaving(grown)) <= allowed:
                kept = len(grown)
        for node in grown[kept:]:
            for tensor in node.reads:
                self.refusals[tensor, identity(node)] = (
                    "more than one result would leave the kernel"
                )
        return grown[:kept]

    def _next_epilogue(self, members: list[Node], shape: tuple[int, ...]) -> Node | None:
        inside = {t for n in members for t in n.makes}
        names = {identity(n) for n in members}
        for node in members:
            for tensor in node.makes:
                for consumer in self.graph.readers(tensor):
                    if identity(consumer) in names:
                        continue
                    reason = self._epilogue_refusal(consumer, members, inside, shape)
                    if reason is None:
                        return consumer
                    self._note(tensor, consumer, reason)
        return None

    def _note(self, tensor: str, consumer: Node, reason: str) -> None:
        """Keeps why an edge stayed open; into a reduction, what stood against a prologue says more."""
        edge = tensor, identity(consumer)
        if self.form(consumer).kind == "pointwise":
            self.refusals[edge] = reason
        else:
            self.refusals.setdefault(edge, reason)

    def _epilogue_refusal(
        self, node: Node, members: list[Node], inside: set[str], shape: tuple[int, ...]
    ) -> str | None:
        """Why a consumer of a group cannot be computed on its results while they are in registers."""
        form = self.form(node)
        if form.kind != "pointwise":
            return f"the consumer is a {form.kind}: it reads other elements than its own"
        if any(self.graph.types[t].shape != shape for t in node.makes):
            return "the consumer's result has another shape"
        if any(self.graph.types[t].shape != shape for t in form.operands if t in inside):
            return "the consumer broadcasts the result"
        waiting = [t for t in form.operands if t not in inside and t not in self.available]
        if waiting:
            return f"the consumer's other operand {waiting[0]!r} is computed later"
        if len(members) >= self.policy.max_operators:
            return f"the kernel has {len(members)} operators, the most the policy allows"
        operands = {t for n in (*members, node) for t in self.form(n).operands} - inside
        if len(operands) > self.policy.max_operands:
            return f"the kernel would read {len(operands)} arrays, more than the policy allows"
        saved = sum(self.graph.types[t].n_bytes for t in form.operands if t in inside)
        if saved < self.policy.min_saved_bytes:
            return f"{saved} bytes saved are fewer than the policy asks for"
        return None

    def _leaving(self, members: list[Node]) -> tuple[str, ...]:
        """The tensors made by members that others read or the graph returns."""
        names = {identity(n) for n in members}
        return tuple(
            tensor
            for node in members
            for tensor in node.makes
            if tensor in self.graph.outputs
            or any(identity(c) not in names for c in self.graph.readers(tensor))
        )


def _checked_form(node: Node, graph: Graph) -> Form:
    form = form_of(node, graph.types, graph.constants)
    check_work(node, form, DEFAULT_LIMITS.operations)
    return form
