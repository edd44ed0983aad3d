"""Checks of a draft that need no types: names, references, cycles, connection.

Every check raises InvalidInput, which names the object, its value and the rule.
"""

from __future__ import annotations

from collections.abc import Iterable

from autosched.errors import InvalidInput
from autosched.graph.graph import Draft, Node
from autosched.graph.limits import ImportLimits


def check_structure(draft: Draft, limits: ImportLimits) -> tuple[Node, ...]:
    """The nodes of a sound draft, producers first and otherwise in the order given."""
    if len(draft.nodes) > limits.nodes:
        raise InvalidInput(
            f"the graph has {len(draft.nodes)} nodes: at most {limits.nodes} are allowed"
        )
    if not draft.outputs:
        raise InvalidInput("the graph has no outputs: at least one is needed")
    _check_single_producers(draft)
    _check_references(draft)
    ordered = _topological(draft)
    _check_connected(draft)
    return ordered


def describe(node: Node) -> str:
    """A node in a message."""
    return f"node {node.name!r} ({node.op})"


def _check_single_producers(draft: Draft) -> None:
    made: dict[str, str] = {}

    def add(tensor: str, by: str) -> None:
        if tensor in made:
            raise InvalidInput(
                f"tensor {tensor!r} is made by {made[tensor]} and by {by}: one producer is allowed"
            )
        made[tensor] = by

    for tensor in draft.inputs:
        add(tensor, "a graph input")
    for tensor in draft.constants:
        add(tensor, "a constant")
    for node in draft.nodes:
        for tensor in node.makes:
            add(tensor, describe(node))
    if len(set(draft.outputs)) != len(draft.outputs):
        raise InvalidInput(f"graph outputs {list(draft.outputs)} repeat a name: names are unique")


def _check_references(draft: Draft) -> None:
    made = {*draft.inputs, *draft.constants, *(t for n in draft.nodes for t in n.makes)}
    for node, tensor in draft.reads():
        if tensor not in made:
            raise InvalidInput(
                f"{describe(node)} reads tensor {tensor!r}, which no input, constant or node makes: "
                "the graph is disconnected"
            )
    for tensor in draft.outputs:
        if tensor not in made:
            raise InvalidInput(
                f"graph output {tensor!r} is made by no input, constant or node: "
                "the graph is disconnected"
            )


def _topological(draft: Draft) -> tuple[Node, ...]:
    """Kahn's algorithm by position: a node goes as early as its producers and the given order allow."""
    producer = {t: i for i, node in enumerate(draft.nodes) for t in node.makes}
    waits = [{producer[t] for t in node.reads if t in producer} for node in draft.nodes]
    order: list[int] = []
    done: set[int] = set()
    for start in range(len(draft.nodes)):
        _visit(start, waits, done, order, draft)
    return tuple(draft.nodes[i] for i in order)


def _visit(
    start: int, waits: list[set[int]], done: set[int], order: list[int], draft: Draft
) -> None:
    """Appends `start` after everything it waits for; depth first without recursion."""
    path: dict[int, None] = {}
    stack = [(start, False)]
    while stack:
        node, expanded = stack.pop()
        if node in done:
            continue
        if expanded:
            del path[node]
            done.add(node)
            order.append(node)
            continue
        path[node] = None
        stack.append((node, True))
        for before in sorted(waits[node] - done, reverse=True):
            if before in path:
                raise InvalidInput(_cycle_message(draft, list(path), before))
            stack.append((before, False))


def _cycle_message(draft: Draft, path: list[int], again: int) -> str:
    cycle = [*path[path.index(again) :], again]
    return "the graph is cyclic: " + ", which reads ".join(describe(draft.nodes[i]) for i in cycle)


def _check_connected(draft: Draft) -> None:
    """Nodes that hang on a graph input must be tied to a graph output, and an output to some input.

    A branch whose result nobody uses is dead code and accepted; a part with its own input and no output is not.
    """
    parts = _Parts([*draft.inputs, *draft.outputs])
    for node in draft.nodes:
        tensors = [t for t in (*node.reads, *node.makes) if t not in draft.constants]
        parts.join(tensors)
    used = {parts.root(t) for t in draft.outputs}
    fed = {parts.root(t) for t in draft.inputs}
    for node in draft.nodes:
        root = parts.root(node.makes[0]) if node.makes else None
        if root in fed and root not in used:
            raise InvalidInput(
                f"{describe(node)} is disconnected: it reads a graph input and is tied to no graph output"
            )


class _Parts:
    """Disjoint sets of tensor names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._above = {name: name for name in names}

    def root(self, name: str) -> str:
        above = self._above
        above.setdefault(name, name)
        while above[name] != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    def join(self, names: list[str]) -> None:
        for name in names[1:]:
            self._above[self.root(name)] = self.root(names[0])
