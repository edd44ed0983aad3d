"""Bytes that move between memory levels, by scope: what fits stays, what does not is fetched again.

At the outermost scope whose footprint fits a cache every buffer is fetched once an entry, save that loops directly
outside which do not index the buffer find it still there. This is the closed form of reuse over whole footprints,
where Ansor takes reuse distances statement by statement.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from autosched.features.columns import Column, ColumnGraph
from autosched.features.statement import in_registers, quotient
from autosched.nest.footprint import Reach, footprint
from autosched.nest.nodes import Buffer, Count, Loop
from autosched.nest.scopes import Scope, Statement
from autosched.te.dtype import n_bytes
from autosched.te.integer import Int, symbols

USABLE_SHARE = 0.75
OUT_OF_THE_WAY = 1e30


@dataclass(eq=False)
class ScopeColumns:
    """One scope, or one statement as the innermost scope. `bytes_of`: footprint of one run by buffer; `fetches`: how
    often that footprint changes; `total` of all buffers."""

    scope: Scope | Statement
    bytes_of: dict[Buffer, Column]
    fetches: dict[Buffer, Column]
    total: Column
    children: list[ScopeColumns] = field(default_factory=list)


def read_scope(scope: Scope, graph: ColumnGraph) -> ScopeColumns:
    """Columns of a scope and of everything inside it. A loop known to run once is as good as its body."""
    while is_trivial(scope):
        scope = scope.children[0]
    sizes = {b: n for b, n in scope.footprints().items() if not in_registers(b)}
    outside = scope.loops if scope.loop is None else scope.loops[:-1]
    found = _columns(scope, sizes, outside, scope.entries, graph)
    found.children = [read_scope(child, graph) for child in scope.children]
    found.children += [_read_statement(s, graph) for s in scope.statements]
    return found


def is_trivial(scope: Scope) -> bool:
    """True for a loop of constant extent 1 with one loop in it and nothing else."""
    if scope.statements or len(scope.children) != 1:
        return False
    return scope.loop is None or (scope.loop.extent.is_constant and scope.loop.extent.value == 1)


def _read_statement(statement: Statement, graph: ColumnGraph) -> ScopeColumns:
    """One run of the innermost body: lanes and copy axes alone."""
    reach = Reach(statement.own_extents)
    buffers = dict.fromkeys(a.buffer for a in statement.accesses if not in_registers(a.buffer))
    sizes = {b: footprint([a for a in statement.accesses if a.buffer is b], reach) for b in buffers}
    return _columns(statement, sizes, statement.loops, statement.entries, graph)


def _columns(
    scope: Scope | Statement,
    sizes: dict[Buffer, Int],
    outside: tuple[Loop, ...],
    entries: tuple[Count, ...],
    graph: ColumnGraph,
) -> ScopeColumns:
    statements = [scope] if isinstance(scope, Statement) else list(scope.below())
    bytes_of = {b: graph.integer(n) * float(n_bytes(b.dtype)) for b, n in sizes.items()}
    fetches = {
        b: quotient(graph, changing(outside, entries, index_symbols(statements, b))) for b in sizes
    }
    return ScopeColumns(scope, bytes_of, fetches, graph.total(list(bytes_of.values())))


def index_symbols(statements: Iterable[Statement], buffer: Buffer) -> frozenset[Int]:
    """Every symbol in an index of the buffer."""
    found: set[Int] = set()
    for statement in statements:
        for access in statement.accesses:
            if access.buffer is buffer:
                found.update(*(symbols(i) for i in access.indices))
    return frozenset(found)


def changing(
    outside: tuple[Loop, ...], entries: tuple[Count, ...], named: frozenset[Int]
) -> tuple[Count, ...]:
    """The entries without the loops directly outside that leave the indices as they are."""
    kept = list(entries)
    for loop in reversed(outside):
        if loop.var in named or not kept or kept[-1] is not loop.count:
            break
        kept.pop()
    return tuple(kept)


def traffic(root: ScopeColumns, cache_bytes: float, graph: ColumnGraph) -> dict[Buffer, Column]:
    """Bytes of each buffer fetched into a cache of this size over the whole run of `root`.

    Where a scope fits, its own fetches are fewer than those of all inside it, so the choice is a minimum over the
    scopes that fit; one that does not is put out of the way.
    """
    found = {b: root.bytes_of[b] * root.fetches[b] for b in root.bytes_of}
    if not root.children:
        return found
    inside: dict[Buffer, Column] = {}
    for child in root.children:
        for buffer, column in traffic(child, cache_bytes, graph).items():
            inside[buffer] = inside[buffer] + column if buffer in inside else column
    overflow = graph.apply("lt", cache_bytes * USABLE_SHARE, root.total) * OUT_OF_THE_WAY
    return {b: graph.minimum(found[b] + overflow, inside[b]) for b in found}


def iterations(graph: ColumnGraph, columns: ScopeColumns) -> Column:
    """Loop iterations of a scope and of all inside."""
    own = graph.constant(0.0)
    scope = columns.scope
    if isinstance(scope, Scope) and scope.loop is not None:
        own = quotient(graph, (*scope.entries, scope.loop.count))
    return graph.total([own, *(iterations(graph, child) for child in columns.children)])
