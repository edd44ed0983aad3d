"""The operands of the main statement by how its vectors read them, and what their layout costs in a cache.

`streamed`: consecutive elements along the vector; `broadcast`: one element for all lanes; `other`: the next load of any
kind (a strided one first); `output`: what the region writes. Rows that lie a power of two apart fall into few cache
sets: positions = way / gcd(pitch, way), and no more than associativity lines of each stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autosched.features.columns import Column, ColumnGraph
from autosched.features.statement import StatementColumns, in_registers
from autosched.features.traffic import ScopeColumns
from autosched.nest.footprint import Access, Reach, stride, sum_of
from autosched.nest.nodes import Buffer, walk
from autosched.nest.scopes import Scope, Statement
from autosched.te.dtype import n_bytes
from autosched.te.integer import as_int

OPERANDS = ("streamed", "broadcast", "other", "output")
NAME_OF_STRIDE: Mapping[int | None, str] = {1: "streamed", 0: "broadcast"}
WAY_BYTES = 4096.0
WAYS = 8.0
PAGE_BYTES = 4096.0


def operands(main: StatementColumns, statements: Sequence[StatementColumns]) -> dict[str, Access]:
    """One access for each name of `OPERANDS` that there is."""
    reads: dict[Buffer, Access] = {}
    for access in main.statement.accesses:
        if not access.writes and not in_registers(access.buffer):
            reads.setdefault(access.buffer, access)
    found: dict[str, Access] = {}
    left: list[Access] = []
    for access in reads.values():
        name = NAME_OF_STRIDE.get(main.vector_stride(access), "other")
        if found.setdefault(name, access) is not access:
            left.append(access)
    if left:
        found.setdefault("other", left[0])
    written = _written(statements)
    if written is not None:
        found["output"] = written
    return found


def _written(statements: Sequence[StatementColumns]) -> Access | None:
    """The last access that writes memory from outside."""
    for statement in reversed(statements):
        for access in statement.statement.accesses:
            if access.writes and access.buffer.scope == "global":
                return access
    return None


@dataclass(frozen=True)
class Layout:
    """How an operand lies in memory while the block's loops run. `stride`: elements along the vector, -1 unknown;
    `step`: bytes from one innermost iteration to the next; `pitch`: bytes from row to row; `conflict`: rows over what
    their cache sets hold; `pages`: memory pages touched."""

    stride: Column
    step: Column
    pitch: Column
    conflict: Column
    pages: Column


def layout(
    main: StatementColumns, access: Access, chain: Sequence[ScopeColumns], graph: ColumnGraph
) -> Layout:
    """The layout of one operand; `chain` are the scopes around the main statement, innermost first."""
    buffer = access.buffer
    size = float(n_bytes(buffer.dtype))
    inner = main.vector_stride(access)
    loops = main.statement.loops
    step = stride(access.indices, buffer, loops[-1].var) if loops else as_int(0)
    pitch = graph.constant(0.0)
    rows, run = graph.constant(0.0), graph.constant(0.0)
    scope = chain[min(inner_loops(main.statement), len(chain) - 1)]
    if len(buffer.shape) > 1 and buffer in scope.bytes_of:
        pitch = graph.integer(buffer.strides[-2]) * size
        run = _run(access, scope.scope, graph) * size
        rows = scope.bytes_of[buffer] / graph.maximum(run, 1.0)
    apart = graph.apply("lt", run, pitch)
    positions = WAY_BYTES / graph.maximum(graph.minimum(pitch.low_bit(), WAY_BYTES), 64.0)
    return Layout(
        stride=graph.constant(float(-1 if inner is None else inner)),
        step=graph.integer(step) * size,
        pitch=pitch,
        conflict=apart * rows / (positions * WAYS),
        pages=rows * graph.minimum(pitch / PAGE_BYTES, 1.0),
    )


def inner_loops(statement: Statement) -> int:
    """Loops that stand inside the register block; the innermost alone where there is no block."""
    if not statement.blocks:
        return 1
    inside = set(walk(statement.blocks[0].body))
    return sum(1 for loop in statement.loops if loop in inside)


def _run(access: Access, scope: Scope | Statement, graph: ColumnGraph) -> Column:
    """Elements of the last dimension that one run of the scope touches."""
    extents = scope.own_extents if isinstance(scope, Statement) else scope.inner_extents()
    return graph.integer(sum_of(Reach(extents).of(access.indices[-1])) + 1)
