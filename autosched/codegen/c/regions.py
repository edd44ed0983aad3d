"""One parallel region as a C function over a range of tasks.

The loops of a region are collapsed into one task index and taken apart again once a task:
task = (i * extent_j + j) * extent_k + k.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from autosched.codegen.c.bodies import print_body
from autosched.codegen.c.prelude import COMPUTED, ELEMENTS, Prelude
from autosched.codegen.c.printing import Printing
from autosched.codegen.c.registers import node_accesses, register_uses
from autosched.codegen.c.scope import Scope
from autosched.codegen.c.writer import Writer
from autosched.codegen.kernel import RegionSpec
from autosched.nest.nodes import Buffer, Invoke, Region, walk
from autosched.target.target import Target
from autosched.te.integer import Int, as_int, both, less

ARGUMENTS = "const void *const *in, void *const *out, void *scratch, int64_t first, int64_t last, int32_t thread"


@dataclass(frozen=True)
class Signature:
    """What a region function is called, and which buffer is which element of `in` and `out`."""

    symbol: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    open_symbols: tuple[Int, ...]


@dataclass(frozen=True)
class RegionText:
    text: str
    spec: RegionSpec


def print_region(
    region: Region,
    signature: Signature,
    values: Mapping[Int, int],
    target: Target,
    prelude: Prelude,
) -> RegionText:
    scope = Scope(values, signature.open_symbols)
    printing = Printing(
        writer=Writer(),
        scope=scope,
        prelude=prelude,
        lanes=vector_lanes(region, target),
        uses=register_uses(region.body, scope),
    )
    tasks = scope.upper(region.tasks, f"the number of tasks of {region.name}")
    with printing.writer.block(f"void {signature.symbol}({ARGUMENTS})"):
        _name_buffers(printing, region, signature)
        printing.writer.line("(void)in; (void)out; (void)scratch; (void)thread;")
        with printing.writer.block("for (int64_t task = first; task < last; ++task)"):
            _print_task(printing, region)
    return RegionText(
        printing.writer.text(), RegionSpec(signature.symbol, tasks, printing.scratch_bytes)
    )


def vector_lanes(region: Region, target: Target) -> int:
    """Elements of one vector: those of the widest dtype computed with. Indices and conditions follow the others."""
    dtypes = {b.dtype for b in region_buffers(region)}
    main = {d for d in dtypes if d not in ("int64", "bool")} or dtypes
    widest = max((ELEMENTS[COMPUTED.get(d, d)].n_bytes for d in main), default=4)
    return target.lanes(widest)


def region_buffers(region: Region) -> list[Buffer]:
    """Every buffer the region touches, in order of appearance."""
    return list(dict.fromkeys(_touched(region)))


def _touched(region: Region) -> Iterator[Buffer]:
    for node in walk(region.body):
        for buffer, _ in node_accesses(node):
            yield buffer
        if isinstance(node, Invoke):
            for tile in node.operands:
                yield tile.buffer


def _name_buffers(printing: Printing, region: Region, signature: Signature) -> None:
    line, scope = printing.writer.line, printing.scope
    used = set(region_buffers(region))
    for array, qualifier, buffers in (
        ("in", "const ", signature.inputs),
        ("out", "", signature.outputs),
    ):
        for position, buffer in enumerate(buffers):
            if buffer in used:
                name = printing.pointers[buffer] = scope.unique(buffer.name)
                element = ELEMENTS[buffer.dtype].stored
                if qualifier:
                    printing.read_only.add(buffer)
                line(f"{qualifier}{element} *restrict {name} = {array}[{position}];")
    if signature.open_symbols:
        line(f"const int64_t *open = in[{len(signature.inputs)}];")
    for position, symbol in enumerate(signature.open_symbols):
        line(f"const int64_t {scope.name(symbol)} = open[{position}];")


def _print_task(printing: Printing, region: Region) -> None:
    scope = printing.scope
    with ExitStack() as stack:
        guards = as_int(1)
        below = as_int(1)
        parts: list[str] = []
        for loop in reversed(region.loops):
            extent = scope.concrete(loop.extent)
            high = scope.upper(extent, f"the extent of {loop.var.name}")
            if high > 1:
                parts.append(
                    _coordinate(printing, loop.var, extent, below, loop is region.loops[0])
                )
            below = below * extent
            stack.enter_context(scope.bound({loop.var: (0, max(high - 1, 0))}))
        for part in reversed(parts):
            printing.writer.line(part)
        for loop in region.loops:
            guards = (
                guards if loop.limit is loop.extent else both(guards, less(loop.var, loop.limit))
            )
        condition = scope.concrete(guards)
        if condition.is_constant:
            print_body(printing, region.body if condition.value else ())
        else:
            with printing.nested(region.body, f"if ({scope.text(condition)})"):
                print_body(printing, region.body)


def _coordinate(printing: Printing, var: Int, extent: Int, below: Int, outermost: bool) -> str:
    scope = printing.scope
    divided = "task" if below.is_constant and below.value == 1 else f"task / {scope.text(below)}"
    text = divided if outermost else f"({divided}) % {scope.text(extent)}"
    return f"const int64_t {scope.name(var)} = {text};"
