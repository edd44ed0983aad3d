"""A nest with all its symbols bound, as the text of Python functions: what the interpreter runs.

One function a region runs one task. Buffers are flat Python lists of NumPy scalars, so every operation rounds in its
declared dtype. An index that intervals cannot prove to lie within the shape is checked where it is used.

A statement below blocks becomes a loop nest over their valid lanes around that one statement:

    Block lanes i < 4, tail 3: Loop k: Reduce c[i] += a[k, i]
 -> n0 = 4 if full else 3
    for k in range(..):
        for i in range(n0):
            c[i] = c[i] + a[k, i]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

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
    Loop,
    Node,
    Reduce,
    Region,
    Store,
)
from autosched.nest.python_text import PythonText, View
from autosched.te.dtype import numpy_dtype
from autosched.te.expr import Const, Expr, Load, Select, Variable, cast, condition
from autosched.te.integer import Int, all_of, as_int, both, less, less_equal, substitute, symbols
from autosched.te.interval import interval

MOST_LOOPS = 12


@dataclass(frozen=True)
class Program:
    """Python text of one function a region, and what the text refers to by number."""

    text: str
    functions: tuple[str, ...]
    buffers: tuple[Buffer, ...]
    constants: tuple[Any, ...]
    nodes: tuple[Node, ...]


@dataclass(eq=False)
class Writer(PythonText):
    """Writes regions as Python; `watched` puts every access and execution through the observer."""

    lines: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    lanes: list[tuple[Int, str]] = field(default_factory=list)
    conditions: list[Int] = field(default_factory=list)
    threads: list[Int] = field(default_factory=list)
    depth: int = 0
    open_loops: int = 0

    def program(self) -> Program:
        return Program(
            "\n".join(self.lines),
            tuple(self.functions),
            tuple(self.buffers),
            tuple(numpy_dtype(c.type).type(c.value) for c in self.constants),
            tuple(self.nodes),
        )

    def region(self, region: Region, external: tuple[Buffer, ...]) -> None:
        """One function of the loop variables of the region and the list of external buffers."""
        function = f"region{len(self.functions)}"
        self.functions.append(function)
        with self._scope(f"def {function}(memory, {self._parameters(region)}):"):
            for position, buffer in enumerate(external):
                self.line(f"{self.buffer_name(buffer)} = memory[{position}]")
            self.line("pass")
            self.body(region.body)
        for loop in region.loops:
            del self.ranges[loop.var]

    def _parameters(self, region: Region) -> str:
        for loop in region.loops:
            self.ranges[loop.var] = (0, self.concrete.static(loop.extent, "region extent") - 1)
        return ", ".join(self.name(loop.var) for loop in region.loops)

    # statements

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def _scope(self, head: str) -> Iterator[None]:
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1

    def body(self, body: Body) -> None:
        for node in body:
            WRITE[type(node)](self, node)

    def number(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def executed(self, number: int) -> None:
        if self.watched:
            self.line(f"counts[{number}] += 1")

    @contextmanager
    def instances(self, node: Node) -> Iterator[None]:
        """A loop over the lanes of the open blocks, under the open conditions that name lanes."""
        number = self.number(node)
        before = self.depth
        self.points(self.lanes)
        for required in self.conditions:
            self.line(f"if {self.integer(required)}:")
            self.depth += 1
        self.executed(number)
        yield
        self.depth = before

    def points(self, axes: Sequence[tuple[Int, str]]) -> None:
        """Opens one loop over all points of the axes, the first slowest."""
        if len(axes) == 1:
            self.line(f"for {self.name(axes[0][0])} in range({axes[0][1]}):")
        elif axes:
            variables = ", ".join(self.name(var) for var, _ in axes)
            ranges = ", ".join(f"range({count})" for _, count in axes)
            self.line(f"for {variables} in product({ranges}):")
        self.depth += bool(axes)

    @contextmanager
    def counted_range(self, var: Int, extent: Int, limit: Int) -> Iterator[None]:
        """`for var in range(limit)`, with a check that the limit stays within the extent."""
        self.no_lanes(limit, "limit")
        most, found = self.concrete.static(extent, "extent"), self.concrete.bound(limit)
        reach = interval(found, self.ranges)[1]
        text = self._integer(found)
        self.ranges[var] = (0, min(most, reach) - 1)
        count = text if reach <= most else f"within({text}, {most})"
        self.open_loops += 1
        with self._part(self.open_loops), self._scope(f"for {self.name(var)} in range({count}):"):
            self.line("pass")
            yield
        self.open_loops -= 1
        del self.ranges[var]

    @contextmanager
    def _part(self, loops: int) -> Iterator[None]:
        """A function of its own every so many loops: Python nests at most 20 statements."""
        if loops % MOST_LOOPS:
            yield
            return
        with self._scope(f"def part{loops}():"):
            yield
        self.line(f"part{loops}()")

    def no_lanes(self, expression: Int, what: str) -> None:
        named = symbols(expression) & {var for var, _ in self.lanes}
        if named:
            raise ValueError(
                f"the {what} {expression!r} names the lane {sorted(map(repr, named))[0]}"
            )

    def loop(self, node: Loop) -> None:
        number = self.number(node)
        thread = node.kind.startswith(("thread", "warp"))
        self.threads += [node.var] * thread
        if self.watched:
            self.line(f"enter({number})")
        with self.counted_range(node.var, node.extent, node.limit):
            self.executed(number)
            if thread:
                self.line(f"at({', '.join(self.name(v) for v in self.threads)})")
            self.body(node.body)
        if self.watched:
            self.line(f"leave({number})")
        if thread:
            self.threads.pop()
            self.line(f"at({', '.join(self.name(v) for v in self.threads)})")

    def block(self, node: Block) -> None:
        self.executed(self.number(node))
        outer = len(self.lanes)
        for lane in node.lanes:
            size, tail = (
                self.concrete.static(lane.size, "lane size"),
                self.concrete.static(lane.tail, "lane tail"),
            )
            self.no_lanes(lane.full, "condition")
            self.temporaries += 1
            valid = f"n{self.temporaries}"
            self.line(f"{valid} = {size} if {self.integer(lane.full)} else {tail}")
            self.ranges[lane.var] = (0, max(size, tail) - 1)
            self.lanes.append((lane.var, valid))
        self.body(node.body)
        for var, _ in self.lanes[outer:]:
            del self.ranges[var]
        del self.lanes[outer:]

    def guard(self, node: Guard) -> None:
        number = self.number(node)
        if symbols(node.condition) & {var for var, _ in self.lanes}:
            self.conditions.append(node.condition)
            self.body(node.body)
            self.conditions.pop()
            return
        with self._scope(f"if {self.integer(node.condition)}:"):
            self.executed(number)
            self.line("pass")
            self.body(node.body)

    def alloc(self, node: Alloc) -> None:
        buffer = node.buffer
        elements = self.concrete.static(buffer.elements, f"size of {buffer.name}")
        name = self.buffer_name(buffer)
        self.line(f"{name} = [poison_{buffer.dtype}] * {elements}")
        if buffer.scope == "shared":
            self.line(f"renew({name[1:]})")

    def store(self, node: Store) -> None:
        with self.instances(node):
            value = self.scalar(cast(node.buffer.dtype, node.value))
            self.line(f"{self.element(node.buffer, node.indices, 'w')} = {value}")

    def reduce(self, node: Reduce) -> None:
        with self.instances(node):
            dtypes = [v.dtype for v in node.values]
            for i, (buffer, dtype) in enumerate(zip(node.buffers, dtypes, strict=True)):
                old = cast(dtype, Load(buffer, node.indices))
                self.line(f"x{i} = {self.scalar(old)}")
                self.line(f"y{i} = {self.scalar(node.values[i])}")
            self._combine(node, dtypes)
            self._write_back(node, dtypes)

    def _write_back(self, node: Reduce | Fold, dtypes: list[str]) -> None:
        for i, buffer in enumerate(node.buffers):
            value = self.scalar(cast(buffer.dtype, Variable(f"x{i}", dtypes[i])))
            self.line(f"{self.element(buffer, node.indices, 'w')} = {value}")

    def _combine(self, node: Reduce | Fold, dtypes: list[str]) -> None:
        """x0, x1, .. = combine(x, y)."""
        x = tuple(Variable(f"x{i}", d) for i, d in enumerate(dtypes))
        y = tuple(Variable(f"y{i}", d) for i, d in enumerate(dtypes))
        results = node.combiner.combine(x, y)
        targets = ", ".join(v.name for v in x)
        self.line(f"{targets} = {', '.join(self.scalar(r) for r in results)}")

    def fold(self, node: Fold) -> None:
        dtypes = [s.dtype for s in node.sources]
        size = self.concrete.static(node.size, "fold size")
        start = tuple(substitute(i, {node.lane: as_int(0)}) for i in node.source_indices)
        with self.instances(node):
            for i, source in enumerate(node.sources):
                self.line(f"x{i} = {self.element(source, start, 'r')}")
            self.ranges[node.lane] = (0, size - 1)
            with self._scope(f"for {self.name(node.lane)} in range(1, {size}):"):
                for i, source in enumerate(node.sources):
                    self.line(f"y{i} = {self.element(source, node.source_indices, 'r')}")
                self._combine(node, dtypes)
            del self.ranges[node.lane]
            self._write_back(node, dtypes)

    def copy(self, node: Copy) -> None:
        number = self.number(node)
        before, threads = self.depth, self.concrete.static(node.threads, "thread count")
        if threads > 1:
            self.line("at('copy')")
        axes = list(self.lanes)
        for axis in node.axes:
            most, reach = self.concrete.static(axis.extent, "extent"), self.integer(axis.limit)
            axes.append((axis.var, f"within({reach}, {most})"))
        self.points(axes)
        for axis in node.axes:
            self.ranges[axis.var] = (0, self.concrete.static(axis.extent, "extent") - 1)
        self.executed(number)
        value: Expr = cast(node.buffer.dtype, node.value)
        if node.bounds:
            inside = all_of(
                [both(less_equal(b.low, b.index), less(b.index, b.high)) for b in node.bounds]
            )
            value = Select(condition(inside), value, Const(node.fill, node.buffer.dtype))
        self.line(f"{self.element(node.buffer, node.indices, 'w')} = {self.scalar(value)}")
        for axis in node.axes:
            del self.ranges[axis.var]
        self.depth = before
        if threads > 1:
            self.line("at()")

    def barrier(self, node: Barrier) -> None:
        self.line(f"barrier({node.scope!r})")

    def invoke(self, node: Invoke) -> None:
        operands = []
        for number, (tile, shape) in enumerate(
            zip(node.operands, node.intrinsic.operand_shapes, strict=True)
        ):
            view = Buffer(f"operand{number}", tuple(as_int(e) for e in shape), tile.buffer.dtype)
            self.views[view] = View(tile.buffer, tile.indices)
            operands.append(view)
        self.executed(self.number(node))
        self.body(node.intrinsic.meaning(*operands))


WRITE: dict[type[Node], Any] = {
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
