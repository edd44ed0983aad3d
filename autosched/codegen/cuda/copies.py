"""Copies: plain loops of one thread, or points dealt to all threads of a block, asynchronous ones past the registers.

p < 8, q < 32 by 64 threads:  for (e = thread; e < 256; e += 64) { q = e % 32; p = e / 32; .. }
"""

from __future__ import annotations

from autosched.codegen.cuda.expressions import CudaLines
from autosched.codegen.cuda.scalars import TYPES
from autosched.nest.nodes import Copy
from autosched.te.expr import Const, Load, Select, cast, condition
from autosched.te.integer import Int, all_of, as_int, both, less, less_equal


def copy_points(writer: CudaLines, node: Copy) -> None:
    """The points of a copy, each thread its share."""
    threads = writer.concrete.static(node.threads, "thread count")
    if threads > 1:
        cooperative_axes(writer, node, threads)
    else:
        serial_axes(writer, node)


def serial_axes(writer: CudaLines, node: Copy) -> None:
    before = writer.depth
    for axis in node.axes:
        writer.concrete.bind(axis.var, axis.extent)
        limit, name = writer.integer(axis.limit), writer.variable(axis.var)
        writer.line(f"for ({writer.index} {name} = 0; {name} < {limit}; ++{name}) {{")
        writer.depth += 1
    point(writer, node)
    while writer.depth > before:
        writer.depth -= 1
        writer.line("}")


def cooperative_axes(writer: CudaLines, node: Copy, threads: int) -> None:
    """Points in row-major order over the extents, one thread a point, then the next `threads`."""
    extents = [writer.concrete.bind(a.var, a.extent) for a in node.axes]
    total = 1
    for extent in extents:
        total *= extent
    e, linear = writer.temporary("e"), "threadIdx.x"
    if writer.threads[1] > 1:
        linear = f"threadIdx.y * {writer.threads[0]} + threadIdx.x"
    with writer.scope(f"for ({writer.index} {e} = {linear}; {e} < {total}; {e} += {threads})"):
        outside = []
        for axis, extent in zip(reversed(node.axes), reversed(extents), strict=True):
            name, total = writer.variable(axis.var), total // extent
            digit = f"{e} % {extent}" if total > 1 else e
            writer.line(f"const {writer.index} {name} = {digit};")
            if total > 1:
                e, rest = writer.temporary("e"), e
                writer.line(f"const {writer.index} {e} = {rest} / {extent};")
            if writer.concrete.known(less(axis.var, axis.limit)) is not as_int(1):
                outside.append(f"{name} >= {writer.integer(axis.limit)}")
        if outside:
            writer.line(f"if ({' || '.join(outside)}) continue;")
        point(writer, node)


def point(writer: CudaLines, node: Copy) -> None:
    inside = all_of([both(less_equal(b.low, b.index), less(b.index, b.high)) for b in node.bounds])
    value = cast(node.buffer.dtype, node.value)
    target = writer.element(node.buffer, node.indices)
    if node.asynchronous and isinstance(value, Load) and node.fill == 0.0:
        asynchronous_point(writer, target, value, inside)
        return
    if writer.concrete.known(inside) is not as_int(1):
        value = Select(condition(inside), value, Const(node.fill, node.buffer.dtype))
    writer.line(f"{target} = {writer.scalar(value)};")


def asynchronous_point(writer: CudaLines, target: str, value: Load, inside: Int) -> None:
    """A 4 or 8 byte copy past the registers; outside the bounds all its bytes are zero-filled."""
    size = f"sizeof({TYPES[value.dtype]})"
    source, holds = writer.scalar(value), writer.integer(inside)
    base = writer.buffers[value.source]  # type: ignore[index]
    address = f"{holds} ? &{source} : {base}"
    writer.line(f"__pipeline_memcpy_async(&{target}, {address}, {size}, {holds} ? 0 : {size});")
    writer.copies_pending = True
