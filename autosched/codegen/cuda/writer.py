"""The body of one CUDA function: statements of a region as lines of text.

Lanes of a block become fully unrolled loops around each statement, a tail a condition inside, so that register arrays
are indexed by constants once the compiler has unrolled:

    Block i < 4 if full else 1: acc[i] = 0
 -> const int n1 = full ? 4 : 1;
    #pragma unroll
    for (int i = 0; i < 4; ++i) if (i < n1) acc[i] = 0.0f;
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from autosched.codegen.cuda.copies import copy_points
from autosched.codegen.cuda.expressions import CudaLines, private_elements
from autosched.codegen.cuda.folding import FOLD
from autosched.codegen.cuda.scalars import TYPES
from autosched.nest.nodes import (
    Alloc,
    Barrier,
    Block,
    Body,
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
from autosched.te.expr import Load, cast
from autosched.te.integer import as_int, symbols

THREAD_AXES = {"thread.x": "x", "thread.y": "y", "warp": "y"}


@dataclass(eq=False)
class Writer(CudaLines):
    """Writes statements at given decisions for blocks of `threads` (x, y) threads."""

    lanes: list[Lane] = field(default_factory=list)
    valid: dict[Lane, str] = field(default_factory=dict)
    open_threads: list[Loop] = field(default_factory=list)

    def body(self, body: Body) -> None:
        for node in body:
            WRITE[type(node)](self, node)

    @contextmanager
    def instances(self) -> Iterator[None]:
        """Unrolled loops over the lanes of the open blocks."""
        before = self.depth
        for lane in self.lanes:
            size = self.concrete.static(lane.size, "lane size")
            if size == 1 and lane not in self.valid:
                continue
            name = self.names[lane.var]
            within = f"if ({name} < {self.valid[lane]}) " if lane in self.valid else ""
            self.line("#pragma unroll")
            self.line(f"for (int {name} = 0; {name} < {size}; ++{name}) {within}{{")
            self.depth += 1
        opened = self.depth - before
        with self.scope():
            yield
        for _ in range(opened):
            self.depth -= 1
            self.line("}")

    def loop(self, node: Loop) -> None:
        if node.kind in THREAD_AXES:
            self.thread_loop(node)
            return
        self.concrete.bind(node.var, node.extent)
        if self.concrete.known(node.limit) is as_int(1):
            self.body(node.body)
            return
        unroll = self.concrete.static(node.unroll, "unroll")
        if node.kind == "vthread" or unroll > 1:
            self.line("#pragma unroll" + (f" {unroll}" if unroll > 1 else ""))
        limit, name = self.integer(node.limit), self.variable(node.var)
        with self.scope(f"for ({self.index} {name} = 0; {name} < {limit}; ++{name})"):
            self.body(node.body)

    def thread_loop(self, node: Loop) -> None:
        axis = THREAD_AXES[node.kind]
        threads = self.threads["xy".index(axis)]
        self.concrete.bind(node.var, node.extent)
        limit, name = self.integer(node.limit), self.variable(node.var)
        self.open_threads.append(node)
        with self.scope():
            self.line(f"[[maybe_unused]] const {self.index} {name} = threadIdx.{axis};")
            if limit == str(threads):
                self.body(node.body)
            else:
                with self.scope(f"if ({name} < {limit})"):
                    self.body(node.body)
        self.open_threads.pop()

    def block(self, node: Block) -> None:
        outer = len(self.lanes)
        with self.scope():
            for lane in node.lanes:
                self.lane(lane)
            self.lanes += node.lanes
            self.body(node.body)
        del self.lanes[outer:]

    def lane(self, lane: Lane) -> None:
        self.concrete.bind(lane.var, lane.size)
        self.variable(lane.var)
        full = self.concrete.known(lane.full)
        if full is as_int(1):
            return
        self.valid[lane] = self.temporary("n")
        lanes = f"{self.integer(full)} ? {self.integer(lane.size)} : {self.integer(lane.tail)}"
        self.line(f"const int {self.valid[lane]} = {lanes};")

    def guard(self, node: Guard) -> None:
        holds = self.concrete.known(node.condition)
        if holds.is_constant:
            self.body(node.body if holds.value else ())
        elif symbols(holds) & {lane.var for lane in self.lanes}:
            raise ValueError(f"the guard {node.condition!r} names a lane: make it a select")
        else:
            with self.scope(f"if ({self.integer(holds)})"):
                self.body(node.body)

    def alloc(self, node: Alloc) -> None:
        """Shared memory is declared at the head of the function, for all threads."""
        buffer = node.buffer
        if buffer.scope == "shared":
            return
        elements = self.concrete.static(private_elements(buffer), f"size of {buffer.name}")
        name = self.name_buffer(buffer)
        self.line(f"{TYPES[buffer.dtype]} {name}[{elements}];")

    def store(self, node: Store) -> None:
        with self.instances():
            value = self.scalar(cast(node.buffer.dtype, node.value))
            self.line(f"{self.element(node.buffer, node.indices)} = {value};")

    def reduce(self, node: Reduce) -> None:
        with self.instances():
            for i, (buffer, value) in enumerate(zip(node.buffers, node.values, strict=True)):
                old = self.scalar(cast(value.dtype, Load(buffer, node.indices)))
                self.line(f"{TYPES[value.dtype]} x{i} = {old};")
                self.line(f"const {TYPES[value.dtype]} y{i} = {self.scalar(value)};")
            self.combine(node, [v.dtype for v in node.values])
            self.write_back(node, [v.dtype for v in node.values])

    def copy(self, node: Copy) -> None:
        with self.instances():
            copy_points(self, node)

    def barrier(self, node: Barrier) -> None:
        if self.copies_pending:
            self.line("__pipeline_commit();")
            self.line("__pipeline_wait_prior(0);")
            self.copies_pending = False
        self.line("__syncthreads();" if node.scope == "block" else "__syncwarp();")

    def fold(self, node: Fold) -> None:
        with self.instances():
            FOLD[node.over](self, node)

    def invoke(self, node: Invoke) -> None:
        addresses = [f"&{self.element(t.buffer, t.indices)}" for t in node.operands]
        with self.instances():
            self.line(node.intrinsic.text["cuda"].format(*addresses))


WRITE: dict[type[Node], Callable[[Writer, Any], None]] = {
    Loop: Writer.loop,
    Block: Writer.block,
    Guard: Writer.guard,
    Alloc: Writer.alloc,
    Store: Writer.store,
    Reduce: Writer.reduce,
    Fold: Writer.fold,
    Copy: Writer.copy,
    Barrier: Writer.barrier,
    Invoke: Writer.invoke,
}
