"""CUDA text of expressions: names, addresses, scalars, at given decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from autosched.codegen.cuda.scalars import BINARY, HALVES, TYPES, UNARY, constant, integer, is_plain
from autosched.nest.concrete import Concrete
from autosched.nest.nodes import Buffer, Fold, Reduce
from autosched.te.expr import Binary, Cast, Const, Expr, Index, Load, Select, Unary, Variable, cast
from autosched.te.integer import Int, as_int


@dataclass(eq=False)
class CudaText:
    """Expressions folded by what is known of their symbols; `index` is the C type of addresses and variables."""

    env: Mapping[Int, int]
    threads: tuple[int, int]
    index: str = "int"
    names: dict[Int, str] = field(default_factory=dict)
    buffers: dict[Buffer, str] = field(default_factory=dict)
    fresh: int = 0

    def __post_init__(self) -> None:
        self.concrete = Concrete(self.env)

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

    def name_buffer(self, buffer: Buffer) -> str:
        self.buffers[buffer] = self.temporary(re.sub(r"\W", "_", buffer.name))
        return self.buffers[buffer]


@dataclass(eq=False)
class CudaLines(CudaText):
    """Lines of one function, indented by scope."""

    lines: list[str] = field(default_factory=list)
    depth: int = 1
    copies_pending: bool = False

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


def private_elements(buffer: Buffer) -> Int:
    """Elements of one thread's copy of a register buffer."""
    if not buffer.thread_axes:
        return buffer.elements
    inner = buffer.shape[buffer.thread_axes :]
    return Buffer(buffer.name, inner, buffer.dtype, pad=buffer.pad).elements
