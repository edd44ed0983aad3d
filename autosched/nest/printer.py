"""A nest as text to read: `nest_text(nest)` shows what a sketch lowered to, `nest_text(nest, env)` what a candidate is,
loops of one iteration gone, bounds and guards folded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
    Nest,
    Node,
    Reduce,
    Region,
    Store,
)
from autosched.te.expr import Binary, Cast, Const, Expr, Index, Load, Select, Unary, expr_text
from autosched.te.integer import OPERATIONS, Int, as_int, to_text
from autosched.te.interval import linear

INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}


def nest_text(nest: Nest, env: Mapping[Int, int] | None = None) -> str:
    """Readable text, one statement a line; folded at the values of `env` where it is given."""
    return "\n".join(_Printer(env).nest(nest)) + "\n"


@dataclass(eq=False)
class _Printer:
    """Prints with every known symbol replaced and, if any is known, everything folded."""

    env: Mapping[Int, int] | None
    lines: list[str] = field(default_factory=list)
    depth: int = 0

    def __post_init__(self) -> None:
        self.concrete = Concrete(self.env or {})

    # integers

    def known(self, expression: Int) -> Int:
        """The expression with what is known put in and folded; as it is in symbolic text."""
        return expression if self.env is None else self.concrete.known(expression)

    def integer(self, expression: Int) -> str:
        return _readable(self.known(expression))

    def bind(self, var: Int, extent: Int) -> None:
        """Opens a variable over [0, extent)."""
        if self.env is not None:
            self.concrete.bind(var, extent)

    def vanishes(self, limit: Int) -> bool:
        """Whether a loop is known to run exactly once."""
        return self.env is not None and self.known(limit) is as_int(1)

    # scalars

    def element(self, buffer: Buffer, indices: tuple[Int, ...]) -> str:
        return f"{buffer.name}[{', '.join(self.integer(i) for i in indices)}]"

    def scalar(self, expression: Expr) -> str:
        match expression:
            case Index(index, dtype):
                return f"{dtype}({self.integer(index)})"
            case Load(source, indices):
                return self.element(source, indices)  # type: ignore[arg-type]
            case Const(value, _):
                return _number(value)
            case Cast(dtype, a):
                return f"{dtype}({self.scalar(a)})"
            case Select(which, a, b):
                parts = (self.scalar(which), self.scalar(a), self.scalar(b))
                return f"select({', '.join(parts)})"
            case Unary(op, a):
                return f"{op}({self.scalar(a)})"
            case Binary(op, a, b) if op in INFIX:
                return f"({self.scalar(a)} {INFIX[op]} {self.scalar(b)})"
            case Binary(op, a, b):
                return f"{op}({self.scalar(a)}, {self.scalar(b)})"
        return expr_text(expression)

    # statements

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def below(self, head: str, body: Body) -> None:
        self.line(head)
        self.depth += 1
        self.body(body)
        self.depth -= 1

    def body(self, body: Body) -> None:
        for node in body:
            PRINT[type(node)](self, node)

    def nest(self, nest: Nest) -> list[str]:
        self.line(f"nest {nest.name}")
        kinds = ("inputs", "outputs", "packed", "workspaces")
        for kind in kinds:
            for buffer in getattr(nest, kind):
                self.line(f"{kind.removesuffix('s')} {self.declaration(buffer)}")
        for kind, regions in (("prepare", nest.prepare), ("region", nest.regions)):
            for region in regions:
                self.region(kind, region)
        return self.lines

    def declaration(self, buffer: Buffer) -> str:
        shape = ", ".join(self.integer(e) for e in buffer.shape)
        pad = "" if buffer.pad is as_int(0) else f" pad {self.integer(buffer.pad)}"
        return f"{buffer.name}: {buffer.dtype}[{shape}] {buffer.scope}{pad}"

    def region(self, kind: str, region: Region) -> None:
        self.line(f"{kind} {region.name}")
        self.depth += 1
        before = self.depth
        for loop in region.loops:
            self.head(loop, "parallel")
        self.body(region.body)
        self.depth = before - 1

    def head(self, loop: Loop, word: str) -> None:
        """The line of a loop; one level deeper unless it vanishes."""
        self.bind(loop.var, loop.extent)
        if self.vanishes(loop.limit):
            return
        name = self.integer(loop.var)
        limit, extent = self.integer(loop.limit), self.integer(loop.extent)
        text = f"{word if loop.kind == 'serial' else loop.kind} {name} < {limit}"
        if limit != extent:
            text += f" (at most {extent})"
        for what, value in (("unroll", loop.unroll), ("peel", loop.peel), ("stages", loop.stages)):
            if value is not None and self.integer(value) not in ("1", limit):
                text += f" {what} {self.integer(value)}"
        self.line(text)
        self.depth += 1

    def loop(self, node: Loop) -> None:
        before = self.depth
        self.head(node, "for")
        self.body(node.body)
        self.depth = before

    def block(self, node: Block) -> None:
        lanes = [text for lane in node.lanes if (text := self.lane(lane, node.vector))]
        if not lanes:
            self.body(node.body)
            return
        self.below(f"block {', '.join(lanes)}", node.body)

    def lane(self, lane: Lane, vector: Int | None) -> str:
        """A lane as `var < size`, with its tail and when it is full where that is open."""
        self.bind(lane.var, lane.size)
        if self.vanishes(lane.size):
            return ""
        name, size, tail = (self.integer(e) for e in (lane.var, lane.size, lane.tail))
        full = self.known(lane.full)
        mark = " vector" if lane.var is vector else ""
        if full.is_constant:
            return f"{name} < {size}{mark}" if full.value else f"{name} < {tail} of {size}{mark}"
        return f"{name} < {size}{mark} if {self.integer(full)} else {tail}"

    def guard(self, node: Guard) -> None:
        holds = self.known(node.condition)
        if holds.is_constant and self.env is not None:
            self.body(node.body if holds.value else ())
            return
        self.below(f"if {self.integer(holds)}:", node.body)

    def alloc(self, node: Alloc) -> None:
        self.line(f"alloc {self.declaration(node.buffer)}")

    def store(self, node: Store) -> None:
        self.line(f"{self.element(node.buffer, node.indices)} = {self.scalar(node.value)}")

    def targets(self, buffers: tuple[Buffer, ...], indices: tuple[Int, ...]) -> str:
        return ", ".join(self.element(b, indices) for b in buffers)

    def reduce(self, node: Reduce) -> None:
        values = ", ".join(self.scalar(v) for v in node.values)
        self.line(f"{self.targets(node.buffers, node.indices)} {node.combiner.name}= {values}")

    def fold_lanes(self, node: Fold) -> None:
        self.bind(node.lane, node.size)
        sources = self.targets(node.sources, node.source_indices)
        over = f"{self.integer(node.lane)} < {self.integer(node.size)} {node.over}"
        targets = self.targets(node.buffers, node.indices)
        self.line(f"{targets} = {node.combiner.name} of {sources} over {over}")

    def copy(self, node: Copy) -> None:
        for axis in node.axes:
            self.bind(axis.var, axis.extent)
        axes = [
            f"{self.integer(a.var)} < {self.integer(a.limit)}"
            for a in node.axes
            if not self.vanishes(a.limit)
        ]
        bounds = [text for b in node.bounds if (text := self.bound(b.low, b.index, b.high))]
        text = f"copy {self.element(node.buffer, node.indices)} = {self.scalar(node.value)}"
        text += f" for {', '.join(axes)}" if axes else ""
        text += f" where {' and '.join(bounds)} else {_number(node.fill)}" if bounds else ""
        if not self.vanishes(node.threads) and node.threads is not as_int(1):
            text += f" by {self.integer(node.threads)} threads"
        self.line(text + " asynchronous" * node.asynchronous)

    def bound(self, low: Int, index: Int, high: Int) -> str:
        """low <= index < high; nothing where it is known to hold."""
        reach = self.concrete.reach
        if self.env is not None and reach(index - low)[0] >= 0 and reach(high - index)[0] >= 1:
            return ""
        return f"{self.integer(low)} <= {self.integer(index)} < {self.integer(high)}"

    def barrier(self, node: Barrier) -> None:
        self.line(f"barrier {node.scope}")

    def invoke(self, node: Invoke) -> None:
        tiles = ", ".join(self.element(t.buffer, t.indices) for t in node.operands)
        self.line(f"{node.intrinsic.name}({tiles})")


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(int(value))


def _readable(expression: Int) -> str:
    """Text with signs and without the outermost parentheses: 3*i - 1, not (3*i + -1)."""
    if expression.op != "add":
        parts = [_readable_argument(a) for a in expression.args]
        return OPERATIONS[expression.op].text.format(*parts) if parts else to_text(expression)
    terms, constant = linear(expression)
    text = ""
    for atom, factor in sorted(terms.items(), key=lambda term: term[1] < 0):
        size = "" if abs(factor) == 1 else f"*{abs(factor)}"
        text += (" - " if factor < 0 else " + ") + _readable_argument(atom) + size
    text += f" {'-' if constant < 0 else '+'} {abs(constant)}" if constant else ""
    return text[3:] if text.startswith(" + ") else text.strip()


def _readable_argument(expression: Int) -> str:
    text = _readable(expression)
    return f"({text})" if expression.op == "add" else text


PRINT: dict[type[Node], Callable[[_Printer, Any], None]] = {
    Loop: _Printer.loop,
    Block: _Printer.block,
    Guard: _Printer.guard,
    Alloc: _Printer.alloc,
    Store: _Printer.store,
    Reduce: _Printer.reduce,
    Fold: _Printer.fold_lanes,
    Copy: _Printer.copy,
    Barrier: _Printer.barrier,
    Invoke: _Printer.invoke,
}
