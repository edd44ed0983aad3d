"""Register buffers as C variables: one a vector along the lane that vectors run along, one a scalar elsewhere.

acc[6, 16] along its last dimension with 8 lanes a vector -> v8f acc_0_0, acc_0_1, acc_1_0, ... acc_5_1. A variable is
declared where the buffer is allocated, if anything uses it. A buffer indexed by a loop variable has no such names and
becomes a local array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from autosched.codegen.c.lanes import chunk_width
from autosched.codegen.c.prelude import Prelude
from autosched.codegen.c.scope import Scope
from autosched.codegen.c.writer import Slot
from autosched.nest.nodes import (
    Block,
    Body,
    Buffer,
    Copy,
    Fold,
    Loop,
    Node,
    Reduce,
    Store,
    children,
)
from autosched.te.expr import Expr, loads
from autosched.te.integer import Int
from autosched.te.integer import symbols as symbols_of

Access = tuple[Buffer, tuple[Int, ...]]


def node_accesses(node: Node) -> Iterator[Access]:
    """Every buffer element a statement reads or writes, itself alone."""
    match node:
        case Store(buffer, indices, value):
            yield buffer, indices
            yield from _loaded(value)
        case Copy():
            yield node.buffer, node.indices
            yield from _loaded(node.value)
        case Reduce(_, buffers, indices, values):
            for buffer in buffers:
                yield buffer, indices
            for value in values:
                yield from _loaded(value)
        case Fold():
            for buffer in node.buffers:
                yield buffer, node.indices
            for buffer in node.sources:
                yield buffer, node.source_indices


def _loaded(value: Expr) -> Iterator[Access]:
    for load in loads(value):
        if isinstance(load.source, Buffer):
            yield load.source, load.indices


def written(node: Node) -> tuple[Buffer, ...]:
    """The buffers a statement writes, itself alone."""
    match node:
        case Store(buffer, _, _) | Copy(buffer, _, _, _):
            return (buffer,)
        case Reduce(_, buffers, _, _):
            return buffers
        case Fold():
            return node.buffers
    return ()


@dataclass
class RegisterUse:
    """How a region uses one register buffer: the dimension vectors run along (-1: none), names known or not."""

    vector_dimension: int | None = None
    is_static: bool = True
    users: set[Node | None] = field(default_factory=set)

    @property
    def is_shared(self) -> bool:
        """Whether more than one block, or something outside blocks, reads or writes it: lanes past the valid ones
        that one block computes could then be seen by another."""
        return len(self.users) > 1 or None in self.users

    def vote(self, dimension: int) -> None:
        agrees = self.vector_dimension in (None, dimension)
        self.vector_dimension = dimension if agrees else -1


def register_uses(body: Body, scope: Scope) -> dict[Buffer, RegisterUse]:
    """The use of every register buffer below a body."""
    found: dict[Buffer, RegisterUse] = {}
    _Survey(scope, found).visit(body, _Inside(frozenset(), None, None))
    return found


@dataclass(frozen=True)
class _Inside:
    """`known`: symbols that have a number wherever text is printed; `vector`: the lane along vectors; `block`: the
    innermost block."""

    known: frozenset[Int]
    vector: Int | None
    block: Node | None


@dataclass
class _Survey:
    scope: Scope
    found: dict[Buffer, RegisterUse]

    def visit(self, body: Body, inside: _Inside) -> None:
        for node in body:
            here = self._entered(node, inside)
            self.visit(children(node), here)
            for buffer, indices in node_accesses(node):
                if buffer.scope in ("register", "fragment"):
                    self._note(buffer, indices, here)

    def _entered(self, node: Node, inside: _Inside) -> _Inside:
        """What holds for a node and below it."""
        if isinstance(node, Block):
            vector = inside.vector if node.vector is None else node.vector
            return _Inside(inside.known | {x.var for x in node.lanes}, vector, node)
        if isinstance(node, Loop) and self._is_single(node):
            return _Inside(inside.known | {node.var}, inside.vector, inside.block)
        if isinstance(node, Fold):
            return _Inside(inside.known | {node.lane}, node.lane, node)
        return inside

    def _is_single(self, loop: Loop) -> bool:
        extent = self.scope.concrete(loop.extent)
        return extent.is_constant and extent.value == 1

    def _note(self, buffer: Buffer, indices: tuple[Int, ...], inside: _Inside) -> None:
        use = self.found.setdefault(buffer, RegisterUse())
        use.users.add(inside.block)
        for dimension, index in enumerate(indices):
            named = symbols_of(self.scope.concrete(index))
            use.is_static &= named <= inside.known
            if inside.vector is not None and inside.vector in named:
                use.vote(dimension)


@dataclass
class RegisterBuffer:
    """A register buffer that lives in variables. `opened` are the lanes that were open where it was allocated;
    `is_shared` says that lanes past the valid ones must stay as they are."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    vector_dimension: int
    lanes: int
    opened: frozenset[Int]
    is_shared: bool
    prelude: Prelude
    slot: Slot
    _declared: set[str] = field(default_factory=set)
    _variables: dict[tuple[int, ...], tuple[str, int, int]] = field(default_factory=dict)

    def variable(self, index: tuple[int, ...]) -> tuple[str, int, int]:
        """The variable that holds an element, its width, and the lane of the element in it."""
        found = self._variables.get(index)
        if found is None:
            found = self._variables[index] = self._new_variable(index)
        return found

    def _new_variable(self, index: tuple[int, ...]) -> tuple[str, int, int]:
        d = self.vector_dimension
        if d < 0:
            return self._declare("_".join([self.name, *map(str, index)]), 1), 1, 0
        number, lane = divmod(index[d], self.lanes)
        width = chunk_width(self.shape[d], number * self.lanes, self.lanes)
        parts = [str(number if i == d else x) for i, x in enumerate(index)]
        return self._declare("_".join([self.name, *parts]), width), width, lane

    def element(self, index: tuple[int, ...]) -> str:
        """C text of one element, to read or to assign."""
        name, width, lane = self.variable(index)
        return name if width == 1 else f"{name}[{lane}]"

    def _declare(self, name: str, width: int) -> str:
        if name not in self._declared:
            self._declared.add(name)
            self.slot.line(f"{self.prelude.type_name(self.dtype, width)} {name};")
        return name
