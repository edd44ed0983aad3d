"""A nest as a CUDA kernel: functions, their launches and what they take.

Function `NAME_rI` (`NAME_pI` for prepare regions) takes pointers: inputs, packed buffers, outputs, workspaces, in the
order of `Kernel`, then one `long long` for each open symbol. Region loops of kind block.x, .y, .z are blocks; where
none is, all region loops are collapsed into blockIdx.x.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from autosched.codegen.cuda.scalars import HEADERS, PRELUDE, TYPES
from autosched.codegen.cuda.writer import THREAD_AXES, Writer
from autosched.codegen.kernel import BufferSpec, Kernel, RegionSpec
from autosched.nest.nodes import Alloc, Buffer, Copy, Loop, Nest, Region, walk
from autosched.te.dtype import n_bytes
from autosched.te.integer import Int, as_int, substitute

STATIC_SHARED_BYTES = 48 * 1024
ALIGNMENT = 16
INT32_MAX = (1 << 31) - 1


@dataclass(frozen=True)
class Launch:
    """How one function is started; the grid may depend on symbols left open. `dynamic_shared_bytes` is part of
    `shared_bytes`."""

    symbol: str
    grid: tuple[Int, Int, Int]
    block: tuple[int, int, int]
    shared_bytes: int
    dynamic_shared_bytes: int


@dataclass(frozen=True)
class CudaKernel:
    """The text with its calling data, and one launch for each of its regions (prepare regions first)."""

    kernel: Kernel
    launches: tuple[Launch, ...]


def cuda_kernel(
    nest: Nest, env: Mapping[Int, int], *, operations: int = 0, open_symbols: tuple[Int, ...] = ()
) -> CudaKernel:
    """CUDA C++ text of the nest at the values of `env`; `open_symbols` become arguments.

    A ValueError names what must be static and is not (shared sizes, thread counts, lanes).
    """
    name = re.sub(r"\W", "_", nest.name)
    launches: list[Launch] = []
    functions: list[str] = []
    for letter, regions in (("p", nest.prepare), ("r", nest.regions)):
        for number, region in enumerate(regions):
            function = _Function(f"{name}_{letter}{number}", nest, region, env, open_symbols)
            functions.append(function.text(prepare=letter == "p"))
            launches.append(function.launch)
    source = "\n".join([_head(nest), *functions])
    kernel = Kernel(
        name,
        "cuda",
        source,
        _specs(nest.inputs, env),
        _specs(nest.outputs, env),
        _specs(nest.packed, env),
        _specs(nest.workspaces, env),
        _regions(launches[: len(nest.prepare)]),
        _regions(launches[len(nest.prepare) :]),
        operations,
        tuple(s.name for s in open_symbols),
    )
    return CudaKernel(kernel, tuple(launches))


def _head(nest: Nest) -> str:
    """Headers for what is used, and the small functions of the text."""
    nodes = [n for r in (*nest.prepare, *nest.regions) for n in walk(r.body)]
    local = [n.buffer for n in nodes if isinstance(n, Alloc)]
    external = (*nest.inputs, *nest.outputs, *nest.packed, *nest.workspaces)
    used = {b.dtype for b in (*external, *local)}
    headers = [HEADERS[d] for d in sorted(used) if d in HEADERS]
    if any(isinstance(n, Copy) and n.asynchronous for n in nodes):
        headers.append("cuda_pipeline.h")
    return "".join(f"#include <{h}>\n" for h in headers) + PRELUDE


def _specs(buffers: tuple[Buffer, ...], env: Mapping[Int, int]) -> tuple[BufferSpec, ...]:
    return tuple(BufferSpec(b.name, b.dtype, _size(b.elements, env)) for b in buffers)


def _size(elements: Int, env: Mapping[Int, int]) -> int:
    """Elements, -1 where they depend on a symbol left open."""
    found = substitute(elements, {s: as_int(v) for s, v in env.items()})
    return found.value if found.is_constant else -1


def _regions(launches: list[Launch]) -> tuple[RegionSpec, ...]:
    return tuple(RegionSpec(x.symbol, _blocks(x), x.shared_bytes) for x in launches)


def _blocks(launch: Launch) -> int:
    x, y, z = (g.value if g.is_constant else -1 for g in launch.grid)
    return x * y * z if min(x, y, z) > 0 else -1


class _Function:
    """One region: its signature, its head (blocks, shared memory) and its body."""

    def __init__(
        self,
        symbol: str,
        nest: Nest,
        region: Region,
        env: Mapping[Int, int],
        open_symbols: tuple[Int, ...],
    ) -> None:
        self.nest, self.region, self.open_symbols = nest, region, open_symbols
        external = (*nest.inputs, *nest.outputs, *nest.packed, *nest.workspaces)
        large = any(not 0 <= _size(b.elements, env) <= INT32_MAX for b in external)
        self.writer = Writer(env, (1, 1), "long long" if large else "int")
        concrete = self.writer.concrete
        threads = {"x": 1, "y": 1}
        for node in walk(region.body):
            if isinstance(node, Loop) and node.kind in THREAD_AXES:
                axis = THREAD_AXES[node.kind]
                threads[axis] = max(threads[axis], concrete.static(node.extent, "thread count"))
        self.writer.threads = (threads["x"], threads["y"])
        shared = [
            n.buffer
            for n in walk(region.body)
            if isinstance(n, Alloc) and n.buffer.scope == "shared"
        ]
        self.shared = {b: concrete.static(b.elements, f"size of {b.name}") for b in shared}
        total = sum(_aligned(n * n_bytes(b.dtype)) for b, n in self.shared.items())
        self.dynamic = total > STATIC_SHARED_BYTES
        self.launch = Launch(
            symbol, self._grid(), (*self.writer.threads, 1), total, total if self.dynamic else 0
        )

    def text(self, *, prepare: bool) -> str:
        lines = self.writer.lines
        parameters = ", ".join(self._parameters(prepare))
        x, y = self.writer.threads
        lines.append(f'extern "C" __global__ void __launch_bounds__({x * y})')
        lines.append(f"{self.launch.symbol}({parameters}) {{")
        self._blocks()
        self._declare_shared()
        self.writer.body(self.region.body)
        return "\n".join([*lines, "}", ""])

    def _parameters(self, prepare: bool) -> list[str]:
        nest, names = self.nest, self.writer.name_buffer
        read = nest.inputs if prepare else (*nest.inputs, *nest.packed)
        written = nest.packed if prepare else (*nest.outputs, *nest.workspaces)
        kernel = [f"const {TYPES[b.dtype]}* __restrict__ {names(b)}" for b in read]
        kernel += [f"{TYPES[b.dtype]}* __restrict__ {names(b)}" for b in written]
        return kernel + [f"long long {self.writer.variable(s)}" for s in self.open_symbols]

    def _grid(self) -> tuple[Int, Int, Int]:
        known = self.writer.concrete.known
        sizes = {"x": as_int(1), "y": as_int(1), "z": as_int(1)}
        for loop in self.region.loops:
            sizes[_axis(loop)] = known(sizes[_axis(loop)] * known(loop.extent))
        return sizes["x"], sizes["y"], sizes["z"]

    def _blocks(self) -> None:
        """Loop variables of the region from the block's index; loops of one axis are digits of it."""
        writer = self.writer
        loops = [(loop, _axis(loop)) for loop in self.region.loops]
        axes = [axis for _, axis in loops]
        rest = {axis: f"blockIdx.{axis}" for axis in axes}
        for loop, axis in reversed(loops):
            most = writer.concrete.bind(loop.var, loop.extent)
            extent, name = writer.integer(loop.extent), writer.variable(loop.var)
            value = rest[axis] if axes.count(axis) == 1 else f"{rest[axis]} % {extent}"
            value = value if most > 1 else "0"
            writer.line(f"[[maybe_unused]] const {writer.index} {name} = {value};")
            rest[axis] = f"({rest[axis]} / {extent})"

    def _declare_shared(self) -> None:
        writer = self.writer
        if self.dynamic:
            writer.line(f"extern __shared__ __align__({ALIGNMENT}) char dynamic_shared[];")
        offset = 0
        for buffer, elements in self.shared.items():
            name, kind = writer.name_buffer(buffer), TYPES[buffer.dtype]
            if self.dynamic:
                writer.line(f"{kind}* const {name} = ({kind}*)(dynamic_shared + {offset});")
                offset += _aligned(elements * n_bytes(buffer.dtype))
            else:
                writer.line(f"__shared__ __align__({ALIGNMENT}) {kind} {name}[{elements}];")


def _axis(loop: Loop) -> str:
    """The grid axis of a region loop."""
    return loop.kind[-1] if loop.kind.startswith("block") else "x"


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
