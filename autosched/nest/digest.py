"""The key of the code that a nest stands for at given decisions.

Loops of one iteration are gone, bounds and guards folded, variables and buffers numbered in order of appearance,
addresses flat. So two candidates with the same code have one key, whatever their sketch:

    for i1 in range(1): for j in range(8): acc[i1, j] = 0   and   for j0 in range(8): t[j0] = 0
 -> for v1 < 8: b0[v1] = 0
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from autosched.nest.forms import Form, Forms, added, scaled, text
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
from autosched.te.expr import Binary, Cast, Expr, Index, Load, Select, Unary, expr_text
from autosched.te.integer import Int

KEY_VERSION = "n2"

ONE: Form = (1, ())


def concrete_digest(nest: Nest, env: Mapping[Int, int]) -> str:
    """Key of the nest at these decisions and sizes; symbols without a value count by their names."""
    words = _Code(env).nest(nest)
    return f"{KEY_VERSION}-{hashlib.sha256(chr(10).join(words).encode()).hexdigest()[:32]}"


class _Code:
    """Collects the canonical words of a nest; `(` and `)` enclose bodies."""

    def __init__(self, env: Mapping[Int, int]) -> None:
        self.forms = Forms(env)
        self.words: list[str] = []
        self.buffers: dict[Buffer, tuple[str, tuple[Form, ...]]] = {}
        self.combiners: dict[tuple[int, tuple[str, ...]], str] = {}

    def nest(self, nest: Nest) -> list[str]:
        for kind in ("inputs", "outputs", "packed", "workspaces"):
            self.words.append(kind)
            for buffer in getattr(nest, kind):
                self.declare(buffer)
        for kind, regions in (("prepare", nest.prepare), ("regions", nest.regions)):
            self.words.append(kind)
            for region in regions:
                self.region(region)
        return self.words

    # parts of statements

    def number(self, expression: Int) -> str:
        return text(self.forms.form(expression))

    def declare(self, buffer: Buffer) -> None:
        name = f"b{len(self.buffers)}"
        strides = tuple(self.forms.form(s) for s in buffer.strides)
        self.buffers[buffer] = name, strides
        elements = self.number(buffer.elements)
        self.words.append(f"{name} {buffer.dtype} {elements} {buffer.scope} {buffer.thread_axes}")

    def element(self, buffer: Buffer, indices: tuple[Int, ...]) -> str:
        if buffer not in self.buffers:
            self.declare(buffer)
        name, strides = self.buffers[buffer]
        terms = []
        for index, stride in zip(indices, strides, strict=True):
            form = self.forms.form(index)
            if stride[1]:
                terms.append(self.forms.opaque("mul", sorted((form, stride))))
            else:
                terms.append(scaled(form, stride[0]))
        return f"{name}[{text(added(*terms))}]"

    def scalar(self, expression: Expr) -> str:
        match expression:
            case Load(source, indices):
                return self.element(source, indices)  # type: ignore[arg-type]
            case Index(index, dtype):
                return f"{dtype}({self.number(index)})"
            case Cast(dtype, a):
                return f"{dtype}({self.scalar(a)})"
            case Select(Index(test, _), a, b):
                return self.selected(test, a, b)
            case Unary(op, _) | Binary(op, _, _):
                return f"{op}({','.join(self.scalar(o) for o in expression.operands)})"
            case Select():
                return f"select({','.join(self.scalar(o) for o in expression.operands)})"
        return expr_text(expression)

    def selected(self, test: Int, a: Expr, b: Expr) -> str:
        holds = self.forms.form(test)
        if not holds[1]:
            return self.scalar(a if holds[0] else b)
        return f"select({text(holds)},{self.scalar(a)},{self.scalar(b)})"

    def combiner(self, node: Reduce | Fold, dtypes: tuple[str, ...]) -> str:
        key = id(node.combiner), dtypes
        if key not in self.combiners:
            self.combiners[key] = node.combiner.text(dtypes)
        return self.combiners[key]

    # statements

    def body(self, body: Body) -> None:
        for node in body:
            CODE[type(node)](self, node)

    def below(self, head: str, body: Body) -> None:
        self.words.append(f"{head} (")
        self.body(body)
        self.words.append(")")

    def region(self, region: Region) -> None:
        self.words.append("region (")
        for loop in region.loops:
            head = self.head(loop)
            if head:
                self.words.append(head)
        self.body(region.body)
        self.words.append(")")

    def head(self, loop: Loop) -> str:
        """What a loop says of itself; nothing where it runs exactly once."""
        limit, extent = self.forms.form(loop.limit), self.forms.form(loop.extent)
        self.forms.open(loop.var, loop.extent)
        if limit == ONE:
            return ""
        words = [loop.kind, self.number(loop.var), text(limit)]
        if limit != extent:
            words.append(text(extent))
        for what, value in (("unroll", loop.unroll), ("peel", loop.peel), ("stages", loop.stages)):
            if value is not None and self.forms.form(value) not in (ONE, limit):
                words.append(f"{what}={self.number(value)}")
        return " ".join(words)

    def loop(self, node: Loop) -> None:
        head = self.head(node)
        if head:
            self.below(head, node.body)
        else:
            self.body(node.body)

    def block(self, node: Block) -> None:
        lanes = [words for lane in node.lanes if (words := self.lane(lane, node.vector))]
        if lanes:
            self.below(f"block {';'.join(lanes)}", node.body)
        else:
            self.body(node.body)

    def lane(self, lane: Lane, vector: Int | None) -> str:
        full, tail = self.forms.form(lane.full), self.number(lane.tail)
        if self.forms.open(lane.var, lane.size) == 1:
            return ""
        size = self.number(lane.size)
        words = [self.number(lane.var), size, "vector" if lane.var is vector else ""]
        if full != ONE:
            words += [text(full), tail]
        return " ".join(words)

    def guard(self, node: Guard) -> None:
        holds = self.forms.form(node.condition)
        if holds[1]:
            self.below(f"if {text(holds)}", node.body)
        elif holds[0]:
            self.body(node.body)

    def alloc(self, node: Alloc) -> None:
        self.declare(node.buffer)

    def store(self, node: Store) -> None:
        self.words.append(f"{self.element(node.buffer, node.indices)}={self.scalar(node.value)}")

    def elements(self, buffers: tuple[Buffer, ...], indices: tuple[Int, ...]) -> str:
        return ",".join(self.element(b, indices) for b in buffers)

    def reduce(self, node: Reduce) -> None:
        combiner = self.combiner(node, tuple(v.dtype for v in node.values))
        values = ",".join(self.scalar(v) for v in node.values)
        self.words.append(f"{self.elements(node.buffers, node.indices)} {combiner} {values}")

    def fold(self, node: Fold) -> None:
        combiner = self.combiner(node, tuple(b.dtype for b in node.sources))
        self.forms.open(node.lane, node.size)
        sources = self.elements(node.sources, node.source_indices)
        over = f"{self.number(node.lane)} {self.number(node.size)} {node.over}"
        targets = self.elements(node.buffers, node.indices)
        self.words.append(f"{targets} fold {combiner} {sources} {over}")

    def copy(self, node: Copy) -> None:
        axes = []
        for axis in node.axes:
            limit = self.forms.form(axis.limit)
            if self.forms.open(axis.var, axis.extent) > 1:
                axes.append(f"{self.number(axis.var)} {text(limit)}")
        bounds = [
            f"{text(low)} {text(index)} {text(high)}"
            for low, index, high in (
                (self.forms.form(b.low), self.forms.form(b.index), self.forms.form(b.high))
                for b in node.bounds
            )
            if not self.holds(low, index, high)
        ]
        target, value = self.element(node.buffer, node.indices), self.scalar(node.value)
        how = f"{node.fill!r} {self.number(node.threads)} {node.asynchronous}"
        self.words.append(f"copy {target}={value};{';'.join(axes)};{';'.join(bounds)};{how}")

    def holds(self, low: Form, index: Form, high: Form) -> bool:
        below = self.forms.reach(added(index, scaled(low, -1)))[0]
        above = self.forms.reach(added(high, scaled(index, -1)))[0]
        return below >= 0 and above >= 1

    def barrier(self, node: Barrier) -> None:
        self.words.append(f"barrier {node.scope}")

    def invoke(self, node: Invoke) -> None:
        tiles = ",".join(self.element(t.buffer, t.indices) for t in node.operands)
        self.words.append(f"{node.intrinsic.name}({tiles})")


CODE: dict[type[Node], Callable[[_Code, Any], None]] = {
    Loop: _Code.loop,
    Block: _Code.block,
    Guard: _Code.guard,
    Alloc: _Code.alloc,
    Store: _Code.store,
    Reduce: _Code.reduce,
    Fold: _Code.fold,
    Copy: _Code.copy,
    Barrier: _Code.barrier,
    Invoke: _Code.invoke,
}
