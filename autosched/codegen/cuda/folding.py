"""Folds: one thread's lanes, the lanes of a warp by shuffles, a block's by shuffles and shared memory.

x of thread t -> combination over all threads, in every thread
warp:   for offset in 16, 8, .. 1: x = combine(x, x of thread t ^ offset)
block:  warp; thread 0 of each warp writes x to shared memory; barrier; every thread combines what all wrote
"""

from __future__ import annotations

from collections.abc import Callable

from autosched.codegen.cuda.expressions import CudaLines
from autosched.codegen.cuda.scalars import HALVES, TYPES
from autosched.nest.nodes import Fold
from autosched.te.integer import as_int, substitute

WARP_SIZE = 32


def fold_lanes(writer: CudaLines, node: Fold) -> None:
    """A loop of one thread over registers."""
    dtypes = [s.dtype for s in node.sources]
    size = writer.concrete.static(node.size, "fold size")
    start = tuple(substitute(i, {node.lane: as_int(0)}) for i in node.source_indices)
    for i, source in enumerate(node.sources):
        writer.line(f"{TYPES[dtypes[i]]} x{i} = {writer.element(source, start)};")
    writer.concrete.bind(node.lane, node.size)
    name = writer.variable(node.lane)
    writer.line("#pragma unroll")
    with writer.scope(f"for (int {name} = 1; {name} < {size}; ++{name})"):
        for i, source in enumerate(node.sources):
            text = writer.element(source, node.source_indices)
            writer.line(f"const {TYPES[dtypes[i]]} y{i} = {text};")
        writer.combine(node, dtypes)
    writer.write_back(node, dtypes)


def fold_warp(writer: CudaLines, node: Fold) -> None:
    """Threads of one warp; `size` a power of two up to 32 that divides the threads along x."""
    size = writer.concrete.static(node.size, "fold size")
    if size & (size - 1) or size > WARP_SIZE or writer.threads[0] % size:
        raise ValueError(f"{size} of {writer.threads[0]} threads cannot fold within warps")
    own_values(writer, node)
    shuffles(writer, node, size)
    writer.write_back(node, [s.dtype for s in node.sources])


def fold_block(writer: CudaLines, node: Fold) -> None:
    """All threads along x of one row of threads, whole warps."""
    size = writer.concrete.static(node.size, "fold size")
    if size <= WARP_SIZE:
        fold_warp(writer, node)
        return
    if size % WARP_SIZE or size != writer.threads[0]:
        raise ValueError(f"{size} of {writer.threads[0]} threads cannot fold over the block")
    dtypes = [s.dtype for s in node.sources]
    warps, rows = size // WARP_SIZE, writer.threads[1]
    own_values(writer, node)
    shuffles(writer, node, WARP_SIZE)
    shared = [writer.temporary("folded") for _ in dtypes]
    for name, dtype in zip(shared, dtypes, strict=True):
        writer.line(f"__shared__ {TYPES[dtype]} {name}[{rows}][{warps}];")
    with writer.scope(f"if (threadIdx.x % {WARP_SIZE} == 0)"):
        for i, name in enumerate(shared):
            writer.line(f"{name}[threadIdx.y][threadIdx.x / {WARP_SIZE}] = x{i};")
    writer.line("__syncthreads();")
    for i, name in enumerate(shared):
        writer.line(f"x{i} = {name}[threadIdx.y][0];")
    warp = writer.temporary("w")
    with writer.scope(f"for (int {warp} = 1; {warp} < {warps}; ++{warp})"):
        for i, name in enumerate(shared):
            writer.line(f"const {TYPES[dtypes[i]]} y{i} = {name}[threadIdx.y][{warp}];")
        writer.combine(node, dtypes)
    writer.line("__syncthreads();")
    writer.write_back(node, dtypes)


def own_values(writer: CudaLines, node: Fold) -> None:
    """x0, x1, .. are what this thread holds: the lane is the index of the thread, absent from the text."""
    for i, source in enumerate(node.sources):
        text = writer.element(source, node.source_indices)
        writer.line(f"{TYPES[source.dtype]} x{i} = {text};")


def shuffles(writer: CudaLines, node: Fold, size: int) -> None:
    """A butterfly over `size` neighbouring threads."""
    dtypes = [s.dtype for s in node.sources]
    offset = writer.temporary("offset")
    writer.line("#pragma unroll")
    with writer.scope(f"for (int {offset} = {size // 2}; {offset} > 0; {offset} /= 2)"):
        for i, dtype in enumerate(dtypes):
            kind = TYPES["float32"] if dtype in HALVES else TYPES[dtype]
            moved = f"__shfl_xor_sync(0xffffffffu, ({kind})x{i}, {offset})"
            writer.line(f"const {TYPES[dtype]} y{i} = ({TYPES[dtype]}){moved};")
        writer.combine(node, dtypes)


FOLD: dict[str, Callable[[CudaLines, Fold], None]] = {
    "lanes": fold_lanes,
    "warp": fold_warp,
    "block": fold_block,
}
