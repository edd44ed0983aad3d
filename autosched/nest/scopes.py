"""The statements of a nest under their loops, as the column reader sees them.

A scope is a loop (or a region, before its first loop) with what stands directly inside. Register blocks are no
scopes: their lanes are unrolled, so they belong to the statements, innermost whatever loops stand inside the block.
Every extent and count here names decisions only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from autosched.nest.footprint import Access, Extents, Reach, footprint
from autosched.nest.nodes import (
    Alloc,
    Barrier,
    Block,
    Body,
    Buffer,
    Copy,
    Count,
    Fold,
    Guard,
    Invoke,
    Lane,
    Loop,
    Nest,
    Node,
    Reduce,
    Region,
    Store,
)
from autosched.te.expr import Expr, loads
from autosched.te.integer import Int


@dataclass(frozen=True, eq=False)
class Statement:
    """A leaf with everything around it. `factors` multiply to its executions (loops, lanes and copy axes included);
    `entries` to how often the innermost loop body around it is run, lanes not counted."""

    node: Node
    loops: tuple[Loop, ...]
    blocks: tuple[Block, ...]
    entries: tuple[Count, ...]
    accesses: tuple[Access, ...]

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return tuple(lane for block in self.blocks for lane in block.lanes)

    @property
    def vector(self) -> Int | None:
        """The lane variable along vector registers, else None."""
        named = [block.vector for block in self.blocks if block.vector is not None]
        return named[-1] if named else None

    @property
    def factors(self) -> tuple[Count, ...]:
        inner = [lane.count for lane in self.lanes]
        if isinstance(self.node, Copy):
            inner += [axis.count for axis in self.node.axes]
        return (*self.entries, *inner)

    @property
    def values(self) -> tuple[Expr, ...]:
        """The expressions it evaluates."""
        match self.node:
            case Store() | Copy():
                return (self.node.value,)
            case Reduce():
                return self.node.values
        return ()

    @property
    def own_extents(self) -> dict[Int, Int]:
        """Extents of what runs inside every loop: lanes, copy axes, the lane of a fold."""
        extents = {lane.var: lane.size for lane in self.lanes}
        if isinstance(self.node, Copy):
            extents.update({axis.var: axis.extent for axis in self.node.axes})
        if isinstance(self.node, Fold):
            extents[self.node.lane] = self.node.size
        return extents


@dataclass(eq=False)
class Scope:
    """`entries` multiply to how often the scope is entered; `loop` is None for a region."""

    loop: Loop | None
    loops: tuple[Loop, ...]
    entries: tuple[Count, ...]
    parallel: bool
    statements: list[Statement] = field(default_factory=list)
    children: list[Scope] = field(default_factory=list)

    def below(self) -> Iterator[Statement]:
        """Every statement inside, at any depth."""
        yield from self.statements
        for child in self.children:
            yield from child.below()

    def walk(self) -> Iterator[Scope]:
        """This scope and all inside it, outside in."""
        yield self
        for child in self.children:
            yield from child.walk()

    def inner_extents(self) -> Extents:
        """Extents of every loop at or below this scope and of everything inside the loops."""
        outside = len(self.loops) - (0 if self.loop is None else 1)
        extents: dict[Int, Int] = {}
        for statement in self.below():
            extents.update({loop.var: loop.extent for loop in statement.loops[outside:]})
            extents.update(statement.own_extents)
        return extents

    def footprints(self) -> dict[Buffer, Int]:
        """Elements of each buffer touched by one run of the scope, united over its statements."""
        reach = Reach(self.inner_extents())
        distinct: dict[Buffer, dict[tuple[object, ...], Access]] = {}
        for statement in self.below():
            for access in statement.accesses:
                same = (access.indices, access.tile)
                distinct.setdefault(access.buffer, {}).setdefault(same, access)
        return {buffer: footprint(found.values(), reach) for buffer, found in distinct.items()}


@dataclass(frozen=True, eq=False)
class RegionScopes:
    """One region: its scope tree (parallel loops outermost), the buffers it allocates and its barriers."""

    region: Region
    root: Scope
    allocated: tuple[tuple[Buffer, tuple[Count, ...], tuple[Lane, ...]], ...]
    barriers: tuple[tuple[Count, ...], ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(self.root.below())


def read_regions(nest: Nest) -> tuple[RegionScopes, ...]:
    """The timed regions of a nest."""
    return tuple(_Reader(region).read() for region in nest.regions)


def read_prepare(nest: Nest) -> tuple[RegionScopes, ...]:
    """The regions that pack constants, outside the timed part."""
    return tuple(_Reader(region).read() for region in nest.prepare)


class _Reader:
    def __init__(self, region: Region) -> None:
        self.region = region
        self.allocated: list[tuple[Buffer, tuple[Count, ...], tuple[Lane, ...]]] = []
        self.barriers: list[tuple[Count, ...]] = []

    def read(self) -> RegionScopes:
        root = scope = Scope(None, (), (), parallel=True)
        for loop in self.region.loops:
            child = Scope(loop, (*scope.loops, loop), self._inside(scope), parallel=True)
            scope.children.append(child)
            scope = child
        self._body(self.region.body, scope, (), self._inside(scope))
        return RegionScopes(self.region, root, tuple(self.allocated), tuple(self.barriers))

    @staticmethod
    def _inside(scope: Scope) -> tuple[Count, ...]:
        return scope.entries if scope.loop is None else (*scope.entries, scope.loop.count)

    def _body(
        self, body: Body, scope: Scope, blocks: tuple[Block, ...], entries: tuple[Count, ...]
    ) -> None:
        for node in body:
            match node:
                case Loop():
                    child = Scope(node, (*scope.loops, node), entries, parallel=False)
                    scope.children.append(child)
                    self._body(node.body, child, blocks, (*entries, node.count))
                case Block():
                    self._body(node.body, scope, (*blocks, node), entries)
                case Guard():
                    self._body(node.body, scope, blocks, (*entries, node.fraction))
                case Alloc():
                    lanes = tuple(lane for block in blocks for lane in block.lanes)
                    self.allocated.append((node.buffer, entries, lanes))
                case Barrier():
                    self.barriers.append(entries)
                case _:
                    found = accesses(node)
                    scope.statements.append(Statement(node, scope.loops, blocks, entries, found))


def accesses(node: Node) -> tuple[Access, ...]:
    """What a leaf reads and writes, reads first."""
    match node:
        case Store(buffer, indices, value):
            return (*_reads((value,)), Access(buffer, indices, writes=True))
        case Copy():
            return (*_reads((node.value,)), Access(node.buffer, node.indices, writes=True))
        case Reduce():
            written = [Access(b, node.indices, writes=True) for b in node.buffers]
            return (*_reads(node.values), *written)
        case Fold():
            read = [Access(b, node.source_indices) for b in node.sources]
            return (*read, *(Access(b, node.indices, writes=True) for b in node.buffers))
        case Invoke():
            shapes = node.intrinsic.operand_shapes
            return tuple(
                Access(tile.buffer, tile.indices, writes=i == len(shapes) - 1, tile=shape)
                for i, (tile, shape) in enumerate(zip(node.operands, shapes, strict=True))
            )
    return ()


def _reads(values: tuple[Expr, ...]) -> list[Access]:
    found: list[Access] = []
    for value in values:
        for load in loads(value):
            if isinstance(load.source, Buffer):
                found.append(Access(load.source, load.indices))
    return found
