"""Bodies: loops, guards, blocks and allocations around the statements.

A block prints its body once for every static combination of lane sizes that can occur (full or tail, axis by axis), the
choice outside so that each variant is straight code. A guard that depends on lanes prints its body under every
combination of those lanes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from autosched.codegen.c.copies import print_copy
from autosched.codegen.c.folds import print_fold
from autosched.codegen.c.lanes import Lanes, chunks
from autosched.codegen.c.loops import Span, counted
from autosched.codegen.c.prelude import ELEMENTS
from autosched.codegen.c.printing import Printing
from autosched.codegen.c.registers import RegisterBuffer, RegisterUse
from autosched.codegen.c.statements import print_invoke, print_reduce, print_store
from autosched.codegen.c.unrolling import unroll_factor
from autosched.nest.nodes import (
    Alloc,
    Block,
    Body,
    Buffer,
    Copy,
    Fold,
    Guard,
    Invoke,
    Lane,
    Loop,
    Node,
    Reduce,
    Store,
)
from autosched.te.integer import Int, as_int, minimum

ALIGNMENT = 64


def print_body(printing: Printing, body: Body) -> None:
    for node in body:
        printer = PRINTERS.get(type(node))
        if printer is None:
            raise ValueError(f"{type(node).__name__} has no meaning on a CPU")
        printer(printing, node)


def print_loop(printing: Printing, loop: Loop) -> None:
    """[0, peel) and [peel, limit) as two loops, conditions folded in each; no loop where it runs once."""
    used = printing.scope.lanes_in(printing.scope.concrete(loop.limit))
    for fixed in _combinations(printing, used):
        with printing.scope.with_lanes(printing.scope.lanes.only(fixed)):
            _print_pieces(printing, loop)


def _print_pieces(printing: Printing, loop: Loop) -> None:
    cuts = [as_int(0), loop.limit]
    if loop.peel is not None:
        cuts.insert(1, minimum(loop.peel, loop.limit))
    factor = unroll_factor(printing, loop)
    for start, stop in itertools.pairwise(cuts):
        span = Span(loop.var, loop.extent, start, stop)
        with counted(printing, span, loop.body, unroll=factor) as runs:
            if runs:
                print_body(printing, loop.body)


def print_guard(printing: Printing, guard: Guard) -> None:
    scope = printing.scope
    condition = scope.concrete(guard.condition)
    for fixed in _combinations(printing, scope.lanes_in(condition)):
        with scope.with_lanes(scope.lanes.only(fixed)):
            _guarded(printing, guard)


def _guarded(printing: Printing, guard: Guard) -> None:
    condition = printing.scope.concrete(guard.condition)
    if not condition.is_constant:
        with printing.nested(guard.body, f"if ({printing.scope.text(condition)})"):
            print_body(printing, guard.body)
    elif condition.value:
        print_body(printing, guard.body)


def _combinations(printing: Printing, symbols: frozenset[Int]) -> list[Mapping[Int, int]]:
    """Every combination of values of some open lanes."""
    lanes = printing.scope.lanes
    order = sorted(symbols, key=lambda s: s.name)
    choices = itertools.product(*(lanes.values(s) for s in order))
    return [dict(zip(order, values, strict=True)) for values in choices]


def print_block(printing: Printing, block: Block) -> None:
    """if (full_i) { if (full_j) { i.size x j.size } else { i.size x j.tail } } else ..."""
    with printing.nested(block.body):
        _choose(printing, block, {})


def _choose(printing: Printing, block: Block, sizes: Mapping[Lane, int]) -> None:
    undecided = [lane for lane in block.lanes if lane not in sizes]
    if not undecided:
        _print_variant(printing, block, sizes)
        return
    lane = undecided[0]
    scope = printing.scope
    size, tail = (scope.static(e, f"a lane of {lane.var.name}") for e in (lane.size, lane.tail))
    full = scope.concrete(lane.full)
    if full.is_constant:
        _choose(printing, block, {**sizes, lane: size if full.value else tail})
        return
    with printing.nested(block.body, f"if ({scope.text(full)})"):
        _choose(printing, block, {**sizes, lane: size})
    if tail > 0:
        before, printing.in_tail = printing.in_tail, True
        with printing.nested(block.body, "else"):
            _choose(printing, block, {**sizes, lane: tail})
        printing.in_tail = before


def _print_variant(printing: Printing, block: Block, sizes: Mapping[Lane, int]) -> None:
    if min(sizes.values(), default=1) <= 0:
        return
    scope, outer = printing.scope, printing.scope.lanes
    scalar = {x.var: tuple(range(n)) for x, n in sizes.items() if x.var is not block.vector}
    if block.vector is None:
        lanes = Lanes({**outer.scalar, **scalar}, outer.vector)
    else:
        along = next(x for x in block.lanes if x.var is block.vector)
        size = scope.static(along.size, f"a lane of {along.var.name}")
        vector = chunks(along.var, size, sizes[along], printing.lanes)
        lanes = Lanes({**outer.scalars_only().scalar, **scalar}, vector)
    with scope.with_lanes(lanes):
        print_body(printing, block.body)


def print_alloc(printing: Printing, node: Alloc) -> None:
    buffer = node.buffer
    printing.registers.pop(buffer, None)
    use = printing.uses.get(buffer)
    if buffer.scope not in ("register", "fragment"):
        _place_in_scratch(printing, buffer)
    elif use is not None and use.is_static and not buffer.thread_axes:
        _open_registers(printing, buffer, use)
    else:
        _declare_array(printing, buffer)


def _open_registers(printing: Printing, buffer: Buffer, use: RegisterUse) -> None:
    scope = printing.scope
    along = use.vector_dimension
    printing.registers[buffer] = RegisterBuffer(
        name=scope.unique(buffer.name),
        dtype=buffer.dtype,
        shape=tuple(scope.static(e, f"a dimension of {buffer.name}") for e in buffer.shape),
        vector_dimension=-1 if along is None else along,
        lanes=printing.lanes,
        opened=scope.lanes.symbols,
        is_shared=use.is_shared,
        prelude=printing.prelude,
        slot=printing.writer.slot(),
    )


def _declare_array(printing: Printing, buffer: Buffer) -> None:
    name = printing.scope.unique(buffer.name)
    element, count = ELEMENTS[buffer.dtype].stored, printing.elements(buffer)
    printing.writer.line(f"{element} {name}[{count}] __attribute__((aligned({ALIGNMENT})));")
    printing.pointers[buffer] = name


def _place_in_scratch(printing: Printing, buffer: Buffer) -> None:
    """Stacked: a body's buffers end with it, and the next body's take their place."""
    name = printing.scope.unique(buffer.name)
    element = ELEMENTS[buffer.dtype]
    offset = printing.scratch_top
    n_bytes = printing.elements(buffer) * element.stored_bytes
    printing.scratch_top = offset + -(-n_bytes // ALIGNMENT) * ALIGNMENT
    printing.scratch_bytes = max(printing.scratch_bytes, printing.scratch_top)
    pointer = f"{element.stored} *restrict {name}"
    aligned = f"__builtin_assume_aligned((char *)scratch + {offset}, {ALIGNMENT})"
    printing.writer.line(f"{pointer} = {aligned};")
    printing.pointers[buffer] = name


Printer = Callable[[Printing, Any], None]

PRINTERS: dict[type[Node], Printer] = {
    Loop: print_loop,
    Block: print_block,
    Guard: print_guard,
    Alloc: print_alloc,
    Store: print_store,
    Reduce: print_reduce,
    Fold: print_fold,
    Copy: print_copy,
    Invoke: print_invoke,
}
