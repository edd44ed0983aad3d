"""Whether a nest at given decisions keeps the rules that every reader relies on.

`verify` visits each statement once with the points at which it is executed and asks every rule of `RULES`. It does not
run the nest; with few points (see `points`) its answer is exact, with many it looks at a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from autosched.nest.concrete import Concrete
from autosched.nest.nodes import (
    Alloc,
    Barrier,
    Block,
    Body,
    Buffer,
    Copy,
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
    children,
)
from autosched.nest.points import Column, Points, distinct
from autosched.te.expr import Expr, Index, Load, Select, index_symbols
from autosched.te.integer import Int, as_int, symbols


@dataclass(frozen=True)
class Violation:
    """A broken rule and where: the loops around the statement, outside in."""

    rule: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule} in {self.where}: {self.message}"


@dataclass(frozen=True, eq=False)
class Access:
    """Elements of a buffer read or written at the points."""

    buffer: Buffer
    indices: tuple[Int, ...]
    points: Points
    is_write: bool = False

    @property
    def address(self) -> Column:
        """Row-major number of the element at each point, without padding."""
        found = np.zeros(self.points.rows, dtype=np.int64)
        for index, extent in zip(self.indices, self.buffer.shape, strict=True):
            found = found * self.points.column(extent) + self.points.column(index)
        return found


@dataclass(frozen=True, eq=False)
class Place:
    """A node with all that surrounds it."""

    nest: Nest
    region: Region
    node: Node
    points: Points
    loops: tuple[Loop, ...]
    lanes: tuple[Lane, ...]
    guards: tuple[Guard, ...]
    live: frozenset[Buffer]

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        return tuple(_accesses(self.node, self.points))

    @property
    def where(self) -> str:
        names = [
            self.region.name,
            *(x.var.name for x in self.loops),
            *(x.var.name for x in self.lanes),
        ]
        return f"{'/'.join(names)} {type(self.node).__name__}"


def verify(nest: Nest, env: Mapping[Int, int]) -> tuple[Violation, ...]:
    """Every broken rule, at most one message a rule and statement."""
    found: list[Violation] = []
    for region in (*nest.prepare, *nest.regions):
        visit = _Visit(nest, region)
        points = Points(Concrete(env), {}, 1)
        for loop in region.loops:
            points = points.expanded(loop.var, points.column(loop.extent))
        visit.body(region.body, Place(nest, region, Barrier(), points, (), (), (), _external(nest)))
        found += visit.found
        found += _shared_between_tasks(visit)
    return tuple(found)


def _external(nest: Nest) -> frozenset[Buffer]:
    return frozenset((*nest.inputs, *nest.outputs, *nest.packed, *nest.workspaces))


@dataclass(eq=False)
class _Visit:
    """Walks one region, keeping what crosses statements: the external accesses."""

    nest: Nest
    region: Region
    found: list[Violation] = field(default_factory=list)
    external: list[Access] = field(default_factory=list)

    def body(self, body: Body, around: Place) -> None:
        live = around.live
        for node in body:
            place = replace(around, node=node, live=live)
            if not self._keeps_rules(place, RULES):
                continue
            self.external += [a for a in place.accesses if a.buffer.scope == "global"]
            if isinstance(node, Alloc):
                live |= {node.buffer}
            self.body(children(node), self._below(place))

    def _keeps_rules(self, place: Place, rules: Mapping[str, Rule]) -> bool:
        """Later rules rely on earlier ones, so the first broken rule of a statement is reported alone."""
        for name, rule in rules.items():
            message = next(rule(place), None)
            if message is not None:
                self.found.append(Violation(name, place.where, message))
                return False
        return True

    def _below(self, place: Place) -> Place:
        """The surroundings of the statements below a node."""
        points, node = place.points, place.node
        loops, lanes, guards = place.loops, place.lanes, place.guards
        match node:
            case Loop():
                points = points.expanded(node.var, points.column(node.limit))
                loops += (node,)
            case Guard():
                points = points.where(points.column(node.condition))
                guards += (node,)
            case Block():
                for lane in node.lanes:
                    full = points.column(lane.full) != 0
                    valid = np.where(full, points.column(lane.size), points.column(lane.tail))
                    points = points.expanded(lane.var, valid)
                lanes += node.lanes
        return replace(place, points=points, loops=loops, lanes=lanes, guards=guards)


# what a statement touches


def _accesses(node: Node, points: Points) -> Iterator[Access]:
    match node:
        case Store():
            yield from _loads(node.value, points)
            yield Access(node.buffer, node.indices, points, is_write=True)
        case Reduce():
            for value in node.values:
                yield from _loads(value, points)
            for buffer in node.buffers:
                yield Access(buffer, node.indices, points, is_write=True)
        case Fold():
            over = points.expanded(node.lane, points.column(node.size))
            yield from (Access(s, node.source_indices, over) for s in node.sources)
            yield from (Access(b, node.indices, points, is_write=True) for b in node.buffers)
        case Copy():
            for axis in node.axes:
                points = points.expanded(axis.var, points.column(axis.limit))
            yield Access(node.buffer, node.indices, points, is_write=True)
            inside = points
            for bound in node.bounds:
                index = inside.column(bound.index)
                low, high = inside.column(bound.low), inside.column(bound.high)
                inside = inside.where(np.asarray((low <= index) & (index < high)))
            yield from _loads(node.value, inside)


def _loads(expression: Expr, points: Points) -> Iterator[Access]:
    """The loads at the points where they are executed: a side of a select only where it is taken."""
    match expression:
        case Load(source, indices):
            yield Access(source, indices, points)  # type: ignore[arg-type]
        case Select(Index(test, _), a, b):
            holds = points.column(test)
            yield from _loads(a, points.where(holds))
            yield from _loads(b, points.where(holds == 0))
        case _:
            for operand in expression.operands:
                yield from _loads(operand, points)


# rules


def _symbols_of(node: Node) -> Iterator[Int]:
    match node:
        case Loop():
            yield from (node.extent, node.limit, node.unroll)
        case Block():
            yield from (e for x in node.lanes for e in (x.size, x.tail, x.full))
        case Guard():
            yield node.condition
        case Alloc():
            yield from node.buffer.shape
        case Copy():
            yield from (e for x in node.axes for e in (x.extent, x.limit))
            yield from (e for b in node.bounds for e in (b.low, b.index, b.high))
            yield from (*node.indices, *index_symbols(node.value))
        case Store():
            yield from (*node.indices, *index_symbols(node.value))
        case Reduce():
            yield from (*node.indices, *(s for v in node.values for s in index_symbols(v)))
        case Fold():
            yield from (*node.indices, node.size)


def symbols_are_bound(place: Place) -> Iterator[str]:
    """Every symbol has a value or an open variable."""
    own = {a.var for a in place.node.axes} if isinstance(place.node, Copy) else set()
    known = own | set(place.points.columns)
    for expression in _symbols_of(place.node):
        for symbol in symbols(place.points.concrete.bound(expression)):
            if symbol not in known:
                yield f"{symbol!r} of {expression!r} has neither a value nor a loop around it"


def variables_are_new(place: Place) -> Iterator[str]:
    """No variable is opened twice."""
    node = place.node
    opened = [node.var] if isinstance(node, Loop) else []
    opened += [x.var for x in node.lanes] if isinstance(node, Block) else []
    known = [x.var for x in (*place.region.loops, *place.loops)] + [x.var for x in place.lanes]
    for var in opened:
        if [*known, *opened].count(var) > 1:
            yield f"variable {var!r} is open already"


def buffers_are_live(place: Place) -> Iterator[str]:
    """A buffer is external or allocated before, in an enclosing body."""
    tiles = place.node.operands if isinstance(place.node, Invoke) else ()
    for buffer in [a.buffer for a in place.accesses] + [t.buffer for t in tiles]:
        if buffer not in place.live:
            yield f"{buffer.name} is not allocated here"


def writes_are_allowed(place: Place) -> Iterator[str]:
    """Prepare regions write packed buffers, regions outputs and workspaces; both their own memory."""
    nest = place.nest
    in_prepare = any(place.region is r for r in nest.prepare)
    allowed = nest.packed if in_prepare else (*nest.outputs, *nest.workspaces)
    for access in place.accesses:
        if access.is_write and access.buffer.scope == "global" and access.buffer not in allowed:
            yield f"{access.buffer.name} ({access.buffer.role}) is not written here"


def numbers_are_static(place: Place) -> Iterator[str]:
    """Lanes, thread counts, sizes of memory inside the nest are decisions; a tail is no longer than its lane."""
    node, bound = place.node, place.points.concrete.bound
    needed: list[tuple[str, Int]] = []
    if isinstance(node, Block):
        for lane in node.lanes:
            needed += [(f"size of lane {lane.var!r}", lane.size), ("its tail", lane.tail)]
    elif isinstance(node, Alloc):
        needed.append((f"size of {node.buffer.name}", node.buffer.elements))
    elif isinstance(node, Loop):
        needed.append((f"extent of loop {node.var!r}", node.extent))
    for what, expression in needed:
        if not bound(expression).is_constant:
            yield f"{what} is {bound(expression)!r}, not a number"
    if isinstance(node, Block):
        for lane in node.lanes:
            if bound(lane.tail).value > bound(lane.size).value or bound(lane.size).value < 1:
                yield f"lane {lane.var!r} has size {lane.size!r} and tail {lane.tail!r}"


def limits_stay_within_extents(place: Place) -> Iterator[str]:
    node, points = place.node, place.points
    pairs = [(node.var, node.limit, node.extent)] if isinstance(node, Loop) else []
    if isinstance(node, Copy):
        pairs = [(a.var, a.limit, a.extent) for a in node.axes]
    for var, limit, extent in pairs:
        over = points.column(limit) > points.column(extent)
        if over.any():
            at = int(np.argmax(over))
            yield f"limit {points.column(limit)[at]} of {var!r} exceeds its extent"


def lanes_do_not_steer(place: Place) -> Iterator[str]:
    """Below a block, limits and the fullness of further lanes do not name its lanes."""
    node = place.node
    steering = [node.limit] if isinstance(node, Loop) else []
    steering += [x.full for x in node.lanes] if isinstance(node, Block) else []
    lane_variables = {x.var for x in place.lanes}
    for expression in steering:
        if symbols(expression) & lane_variables:
            yield f"{expression!r} names a lane"


def accesses_are_inside(place: Place) -> Iterator[str]:
    for access in place.accesses:
        for axis, (index, extent) in enumerate(
            zip(access.indices, access.buffer.shape, strict=True)
        ):
            found, size = access.points.column(index), access.points.column(extent)
            outside = (found < 0) | (found >= size)
            if outside.any():
                at = int(np.argmax(outside))
                yield (
                    f"{access.buffer.name}: index {found[at]} in dimension {axis} "
                    f"of extent {size[at]}"
                )


def lanes_store_apart(place: Place) -> Iterator[str]:
    """Lanes of one block do not store different values to one element."""
    node = place.node
    if not isinstance(node, Store):
        return
    named = index_symbols(node.value)
    lanes = [x.var for x in place.lanes if x.var in named]
    if not lanes:
        return
    (access,) = [a for a in place.accesses if a.is_write]
    points = place.points
    outer = [c for var, c in points.columns.items() if var not in {x.var for x in place.lanes}]
    element = distinct([*outer, access.address], points.rows)
    lane = distinct([points.columns[var] for var in lanes], points.rows)
    if not _one_value_each(element, lane):
        yield f"lanes {[repr(v) for v in lanes]} store to one element of {node.buffer.name}"


def _one_value_each(key: Column, value: Column) -> bool:
    """Whether rows with equal keys have equal values."""
    if not len(key):
        return True
    least = np.full(int(key.max()) + 1, np.iinfo(np.int64).max)
    most = np.full(int(key.max()) + 1, -1)
    np.minimum.at(least, key, value)
    np.maximum.at(most, key, value)
    return bool((least[key] == most[key]).all())


def threads_meet(place: Place) -> Iterator[str]:
    """Barriers and folds over threads are reached by all threads: no thread loop around a barrier, no limit or guard
    that leaves some threads out around a fold."""
    threads = [x for x in place.loops if x.kind.startswith(("thread", "warp"))]
    names = {x.var for x in threads}
    if isinstance(place.node, Barrier) and threads:
        yield f"a barrier stands inside the loop over threads {threads[-1].var!r}"
    meeting = isinstance(place.node, Fold) and place.node.over != "lanes"
    if not isinstance(place.node, Barrier) and not meeting:
        return
    for guard in place.guards:
        if symbols(guard.condition) & names:
            yield f"the guard {guard.condition!r} keeps some threads away"
    for loop in place.loops:
        if symbols(loop.limit) & names or (loop in threads and not _is_whole(place, loop)):
            yield f"the limit {loop.limit!r} of {loop.var!r} keeps some threads away"


def _is_whole(place: Place, loop: Loop) -> bool:
    return place.points.concrete.known(loop.limit) is place.points.concrete.known(loop.extent)


def shared_memory_has_one_writer(place: Place) -> Iterator[str]:
    """Outside loops over threads nothing but a cooperative copy writes shared memory."""
    threads = any(x.kind.startswith(("thread", "warp")) for x in place.loops)
    if threads or (isinstance(place.node, Copy) and place.node.threads is not as_int(1)):
        return
    for access in place.accesses:
        if access.is_write and access.buffer.scope == "shared":
            yield f"every thread would write {access.buffer.name}"


Rule = Callable[[Place], Iterator[str]]

RULES: dict[str, Rule] = {
    "symbols are bound": symbols_are_bound,
    "variables are new": variables_are_new,
    "numbers are static": numbers_are_static,
    "lanes do not steer": lanes_do_not_steer,
    "limits stay within extents": limits_stay_within_extents,
    "buffers are live": buffers_are_live,
    "writes are allowed": writes_are_allowed,
    "accesses are inside": accesses_are_inside,
    "lanes store apart": lanes_store_apart,
    "threads meet": threads_meet,
    "shared memory has one writer": shared_memory_has_one_writer,
}


def _shared_between_tasks(visit: _Visit) -> Iterator[Violation]:
    """External elements that one task writes, no other task of the region writes or reads."""
    variables = [loop.var for loop in visit.region.loops]
    for buffer in {a.buffer for a in visit.external if a.is_write}:
        touched = [a for a in visit.external if a.buffer is buffer]
        address = np.concatenate([a.address for a in touched])
        task = distinct(
            [np.concatenate([a.points.columns[v] for a in touched]) for v in variables],
            len(address),
        )
        written = np.unique(np.concatenate([a.address for a in touched if a.is_write]))
        kept = np.isin(address, written)
        if not _one_value_each(address[kept], task[kept]):
            message = f"two tasks touch one element of {buffer.name}, written by one of them"
            yield Violation("tasks are apart", visit.region.name, message)
