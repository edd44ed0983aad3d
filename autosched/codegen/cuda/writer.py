"""The body of one CUDA function: statements of a region as lines of text.

Lanes of a block become fully unrolled loops around each statement, a tail a condition inside, so that register arrays
are indexed by constants once the compiler has unrolled:

    Block i < 4 if full else 1: acc[i] = 0
 -> const int n1 = full ? 4 : 1;
    #pragma unroll
    for (int i = 0; i < 4; ++i) if (i < n1) acc[i] = 0.0f;
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from autosched.codegen.cuda.scalars import BINARY, HALVES, TYPES, UNARY, constant, integer, is_plain
from autosched.nest.concrete import Concrete
from autosched.nest.nodes import (
    Alloc,
    Barrier,
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
from autosched.te.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Load,
    Select,
    Unary,
    Variable,
    cast,
    condition,
)
from autosched.te.integer import Int, all_of, as_int, both, less, less_equal, symbols

THREAD_AXES = {"thread.x": "x", "thread.y": "y", "warp": "y"}


@dataclass(eq=False)
class Writer:
    """Writes statements at given decisions for blocks of `threads` (x, y) threads."""

    env: Mapping[Int, int]
    threads: tuple[int, int]
    index: str = "int"
    lines: list[str] = field(default_factory=list)
    names: dict[Int, str] = field(default_factory=dict)
    buffers: dict[Buffer, str] = field(default_factory=dict)
    lanes: list[Lane] = field(default_factory=list)
    valid: dict[Lane, str] = field(default_factory=dict)
    open_threads: list[Loop] = field(default_factory=list)
    copies_pending: bool = False
    depth: int = 1
    fresh: int = 0

    def __post_init__(self) -> None:
        self.concrete = Concrete(self.env)

    # text of expressions

    def variable(self, symbol: Int) -> str:
        """A new C name for a symbol."""
        self.names[symbol] = self.temporary(re.sub(r"\W", "_", symbol.name))
        return self.names[symbol]

    def temporary(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}_{self.fresh}"

    def integer(self, expression: Int) -> str:
        return integer(self.concrete.known(expression), self.names, self.index)

    def address(self, buffer: Buffer, indices: tuple[Int, ...]) -> str:
        """Flat address of an element; the thread axes of a register buffer are not there."""
        strides = buffer.strides
        flat = as_int(0)
        for index, stride in list(zip(indices, strides, strict=True))[buffer.thread_axes :]:
            flat = flat + self.concrete.known(index) * self.concrete.known(stride)
        return self.integer(flat)

    def element(self, buffer: Buffer, indices: tuple[Int, ...]) -> str:
        return f"{self.buffers[buffer]}[{self.address(buffer, indices)}]"

    def scalar(self, expression: Expr) -> str:
        match expression:
            case Const():
                return constant(expression)
            case Variable(name, _):
                return name
            case Index(index, dtype):
                return f"({TYPES[dtype]})({self.integer(index)})"
            case Load(source, indices):
                return self.element(source, indices)  # type: ignore[arg-type]
            case Cast(dtype, a):
                return self.converted(self.scalar(a), a.dtype, dtype)
            case Select(which, a, b):
                return f"({self.scalar(which)} ? {self.scalar(a)} : {self.scalar(b)})"
            case Unary(op, a):
                return self.unary(op, a)
            case Binary(op, a, b):
                return BINARY[op].format(self.scalar(a), self.scalar(b))
        raise TypeError(f"no CUDA text for {type(expression).__name__}")

    def unary(self, op: str, a: Expr) -> str:
        text = self.scalar(a)
        if a.dtype not in HALVES or is_plain(op):
            return UNARY[op].format(text)
        return self.converted(UNARY[op].format(f"(float)({text})"), "float32", a.dtype)

    def converted(self, text: str, before: str, after: str) -> str:
        """A conversion; between halves and other types by way of float."""
        if {before, after} & set(HALVES) and "float32" not in (before, after):
            text = f"(float)({text})"
        return f"({TYPES[after]})({text})"

    # lines and scopes

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    @contextmanager
    def scope(self, head: str = "") -> Iterator[None]:
        self.line(f"{head} {{".strip())
        before = self.depth
        self.depth += 1
        yield
        self.depth = before
        self.line("}")

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

    # statements

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

    def name_buffer(self, buffer: Buffer) -> str:
        self.buffers[buffer] = self.temporary(re.sub(r"\W", "_", buffer.name))
        return self.buffers[buffer]

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

    def combine(self, node: Reduce | Fold, dtypes: list[str]) -> None:
        """x0, x1, .. become the combination of x and y."""
        x = tuple(Variable(f"x{i}", d) for i, d in enumerate(dtypes))
        y = tuple(Variable(f"y{i}", d) for i, d in enumerate(dtypes))
        results = [self.scalar(r) for r in node.combiner.combine(x, y)]
        if len(results) == 1:
            self.line(f"x0 = {results[0]};")
            return
        with self.scope():
            for i, text in enumerate(results):
                self.line(f"const {TYPES[dtypes[i]]} z{i} = {text};")
            self.line(" ".join(f"x{i} = z{i};" for i in range(len(results))))

    def write_back(self, node: Reduce | Fold, dtypes: list[str]) -> None:
        for i, buffer in enumerate(node.buffers):
            value = self.scalar(cast(buffer.dtype, Variable(f"x{i}", dtypes[i])))
            self.line(f"{self.element(buffer, node.indices)} = {value};")

    def copy(self, node: Copy) -> None:
        threads = self.concrete.static(node.threads, "thread count")
        with self.instances():
            if threads > 1:
                self.cooperative_axes(node, threads)
            else:
                self.serial_axes(node)

    def serial_axes(self, node: Copy) -> None:
        before = self.depth
        for axis in node.axes:
            self.concrete.bind(axis.var, axis.extent)
            limit, name = self.integer(axis.limit), self.variable(axis.var)
            self.line(f"for ({self.index} {name} = 0; {name} < {limit}; ++{name}) {{")
            self.depth += 1
        self.point(node)
        while self.depth > before:
            self.depth -= 1
            self.line("}")

    def cooperative_axes(self, node: Copy, threads: int) -> None:
        """Points in row-major order over the extents, one thread a point, then the next `threads`."""
        extents = [self.concrete.bind(a.var, a.extent) for a in node.axes]
        total = 1
        for extent in extents:
            total *= extent
        e, linear = self.temporary("e"), "threadIdx.x"
        if self.threads[1] > 1:
            linear = f"threadIdx.y * {self.threads[0]} + threadIdx.x"
        with self.scope(f"for ({self.index} {e} = {linear}; {e} < {total}; {e} += {threads})"):
            outside = []
            for axis, extent in zip(reversed(node.axes), reversed(extents), strict=True):
                name, total = self.variable(axis.var), total // extent
                digit = f"{e} % {extent}" if total > 1 else e
                self.line(f"const {self.index} {name} = {digit};")
                if total > 1:
                    e, rest = self.temporary("e"), e
                    self.line(f"const {self.index} {e} = {rest} / {extent};")
                if self.concrete.known(less(axis.var, axis.limit)) is not as_int(1):
                    outside.append(f"{name} >= {self.integer(axis.limit)}")
            if outside:
                self.line(f"if ({' || '.join(outside)}) continue;")
            self.point(node)

    def point(self, node: Copy) -> None:
        inside = all_of(
            [both(less_equal(b.low, b.index), less(b.index, b.high)) for b in node.bounds]
        )
        value = cast(node.buffer.dtype, node.value)
        target = self.element(node.buffer, node.indices)
        if node.asynchronous and isinstance(value, Load) and node.fill == 0.0:
            self.asynchronous_point(target, value, inside)
            return
        if self.concrete.known(inside) is not as_int(1):
            value = Select(condition(inside), value, Const(node.fill, node.buffer.dtype))
        self.line(f"{target} = {self.scalar(value)};")

    def asynchronous_point(self, target: str, value: Load, inside: Int) -> None:
        """A 4 or 8 byte copy past the registers; outside the bounds all its bytes are zero-filled."""
        size = f"sizeof({TYPES[value.dtype]})"
        source, holds = self.scalar(value), self.integer(inside)
        base = self.buffers[value.source]  # type: ignore[index]
        address = f"{holds} ? &{source} : {base}"
        self.line(f"__pipeline_memcpy_async(&{target}, {address}, {size}, {holds} ? 0 : {size});")
        self.copies_pending = True

    def barrier(self, node: Barrier) -> None:
        if self.copies_pending:
            self.line("__pipeline_commit();")
            self.line("__pipeline_wait_prior(0);")
            self.copies_pending = False
        self.line("__syncthreads();" if node.scope == "block" else "__syncwarp();")

    def fold(self, node: Fold) -> None:
        from autosched.codegen.cuda.folding import FOLD

        with self.instances():
            FOLD[node.over](self, node)

    def invoke(self, node: Invoke) -> None:
        addresses = [f"&{self.element(t.buffer, t.indices)}" for t in node.operands]
        with self.instances():
            self.line(node.intrinsic.text["cuda"].format(*addresses))


def private_elements(buffer: Buffer) -> Int:
    """Elements of one thread's copy of a register buffer."""
    if not buffer.thread_axes:
        return buffer.elements
    inner = buffer.shape[buffer.thread_axes :]
    return Buffer(buffer.name, inner, buffer.dtype, pad=buffer.pad).elements


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
