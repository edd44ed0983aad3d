"""The symbols of a nest that have no value at generation: late-bound decisions and sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from autosched.nest.nodes import (
    Alloc,
    Block,
    Copy,
    Fold,
    Guard,
    Invoke,
    Loop,
    Nest,
    Node,
    Reduce,
    Region,
    Store,
    walk,
)
from autosched.te.expr import Expr, index_symbols
from autosched.te.integer import Int
from autosched.te.integer import symbols as symbols_of


def open_symbols(nest: Nest, values: Mapping[Int, int]) -> tuple[Int, ...]:
    """Decisions and sizes that occur in the nest and have no value, by name."""
    found: set[Int] = set()
    for buffer in (*nest.inputs, *nest.outputs, *nest.packed, *nest.workspaces):
        for extent in buffer.shape:
            found |= symbols_of(extent)
    for region in (*nest.prepare, *nest.regions):
        for item in _region_items(region):
            found |= symbols_of(item) if isinstance(item, Int) else index_symbols(item)
    late = (s for s in found if s.kind != "index" and s not in values)
    return tuple(sorted(late, key=lambda s: s.name))


def _region_items(region: Region) -> Iterator[Int | Expr]:
    for loop in region.loops:
        yield from (loop.extent, loop.limit)
    for node in walk(region.body):
        yield from node_items(node)


def node_items(node: Node) -> Iterable[Int | Expr]:
    """Every integer and scalar expression of one node, itself alone, that its text depends on."""
    found = ITEMS.get(type(node))
    return () if found is None else found(node)


def _lanes(node: Block) -> list[Int]:
    return [e for lane in node.lanes for e in (lane.size, lane.tail, lane.full)]


def _copied(node: Copy) -> list[Int | Expr]:
    axes = [e for axis in node.axes for e in (axis.extent, axis.limit)]
    bounds = [e for bound in node.bounds for e in (bound.low, bound.index, bound.high)]
    return [*node.indices, node.value, *axes, *bounds]


ITEMS: dict[type[Node], Callable[[Any], Iterable[Int | Expr]]] = {
    Loop: lambda n: (n.extent, n.limit, n.unroll, *(() if n.peel is None else (n.peel,))),
    Block: _lanes,
    Guard: lambda n: (n.condition,),
    Alloc: lambda n: n.buffer.shape,
    Store: lambda n: (*n.indices, n.value),
    Reduce: lambda n: (*n.indices, *n.values),
    Fold: lambda n: (*n.indices, *n.source_indices, n.size),
    Copy: _copied,
    Invoke: lambda n: [e for tile in n.operands for e in tile.indices],
}
