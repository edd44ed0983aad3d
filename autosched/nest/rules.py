"""The rules of one statement, by name: each yields what is wrong at a place.

A later rule may rely on the earlier ones: symbols are bound before limits are compared, and limits before accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from autosched.nest.nodes import (
    Alloc,
    Barrier,
    Block,
    Copy,
    Fold,
    Guard,
    Invoke,
    Loop,
    Node,
    Reduce,
    Store,
)
from autosched.nest.places import Place
from autosched.nest.points import distinct, one_value_each
from autosched.te.expr import index_symbols
from autosched.te.integer import Int, as_int, symbols


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
        if access.writes and access.buffer.scope == "global" and access.buffer not in allowed:
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
    (access,) = [a for a in place.accesses if a.writes]
    points = place.points
    outer = [c for var, c in points.columns.items() if var not in {x.var for x in place.lanes}]
    element = distinct([*outer, access.address], points.rows)
    lane = distinct([points.columns[var] for var in lanes], points.rows)
    if not one_value_each(element, lane):
        yield f"lanes {[repr(v) for v in lanes]} store to one element of {node.buffer.name}"


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
        if access.writes and access.buffer.scope == "shared":
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
