"""Python text of integer and scalar expressions, over flat lists of NumPy scalars.

Names in the text: `v0` variables, `b0` buffers, `c0` constants, `as_float32` conversions, `unary_exp` and `binary_pow`
operations, `fault` for an index outside its dimension, `r` and `w` to show an address to the observer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autosched.nest.concrete import Concrete
from autosched.nest.nodes import Buffer
from autosched.te.expr import Binary, Cast, Const, Expr, Index, Load, Select, Unary, Variable
from autosched.te.integer import Int, Interval
from autosched.te.interval import interval

INT_TEXT: dict[str, str] = {
    "add": "({0} + {1})",
    "mul": "({0} * {1})",
    "floordiv": "({0} // {1})",
    "ceildiv": "(-(-{0} // {1}))",
    "mod": "({0} % {1})",
    "min": "min({0}, {1})",
    "max": "max({0}, {1})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "eq": "({0} == {1})",
    "and": "({0} and {1})",
    "xor": "({0} ^ {1})",
    "select": "({1} if {0} else {2})",
}

INFIX: dict[str, str] = {
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "lt": "({} < {})",
    "le": "({} <= {})",
    "gt": "({} > {})",
    "ge": "({} >= {})",
    "eq": "({} == {})",
    "ne": "({} != {})",
    "and": "({} & {})",
    "or": "({} | {})",
}


@dataclass(eq=False)
class View:
    """An operand of an intrinsic: its element `x` is element `base + x` of `buffer`, in the last dimensions."""

    buffer: Buffer
    base: tuple[Int, ...]


@dataclass(eq=False)
class PythonText:
    """Writes expressions with every symbol of `values` replaced; `watched` puts every access through the observer."""

    values: Mapping[Int, int]
    watched: bool = False
    buffers: dict[Buffer, str] = field(default_factory=dict)
    constants: dict[Const, str] = field(default_factory=dict)
    names: dict[Int, str] = field(default_factory=dict)
    ranges: dict[Int, Interval] = field(default_factory=dict)
    views: dict[Buffer, View] = field(default_factory=dict)
    temporaries: int = 0

    def __post_init__(self) -> None:
        self.concrete = Concrete(self.values)

    def name(self, symbol: Int) -> str:
        return self.names.setdefault(symbol, f"v{len(self.names)}")

    def buffer_name(self, buffer: Buffer) -> str:
        return self.buffers.setdefault(buffer, f"b{len(self.buffers)}")

    def integer(self, expression: Int) -> str:
        return self._integer(self.concrete.bound(expression))

    def _integer(self, expression: Int) -> str:
        if expression.is_constant:
            return str(expression.value)
        if expression.is_symbol:
            if expression not in self.ranges:
                raise ValueError(f"symbol {expression!r} has no value and no loop around it")
            return self.name(expression)
        return INT_TEXT[expression.op].format(*(self._integer(a) for a in expression.args))

    def scalar(self, expression: Expr) -> str:
        match expression:
            case Const():
                return self.constants.setdefault(expression, f"c{len(self.constants)}")
            case Variable(name, _):
                return name
            case Index(index, dtype):
                return f"as_{dtype}({self.integer(index)})"
            case Load(source, indices):
                return self.element(source, indices, "r")  # type: ignore[arg-type]
            case Cast(dtype, a):
                return f"as_{dtype}({self.scalar(a)})"
            case Select(which, a, b):
                return f"({self.scalar(a)} if {self.scalar(which)} else {self.scalar(b)})"
            case Unary(op, a):
                return f"-{self.scalar(a)}" if op == "neg" else f"unary_{op}({self.scalar(a)})"
            case Binary(op, a, b):
                form = INFIX.get(op, f"binary_{op}({{}}, {{}})")
                return form.format(self.scalar(a), self.scalar(b))
        raise TypeError(f"no meaning for {type(expression).__name__}")

    def element(self, buffer: Buffer, indices: tuple[Int, ...], access: str) -> str:
        """`buffer[flat address]`; `access` is r or w."""
        if buffer in self.views:
            view = self.views[buffer]
            indices = aligned(view.base, indices)
            return self.element(view.buffer, indices, access)
        name = self.buffer_name(buffer)
        terms = []
        for axis, (index, stride) in enumerate(zip(indices, buffer.strides, strict=True)):
            step = self.concrete.static(stride, f"stride of {buffer.name}")
            text = self._checked(buffer, axis, index)
            terms.append(text if step == 1 else f"{text} * {step}")
        address = " + ".join(terms) or "0"
        if self.watched or buffer.scope == "shared":
            address = f"{access}({name[1:]}, {address})"
        return f"{name}[{address}]"

    def _checked(self, buffer: Buffer, axis: int, index: Int) -> str:
        extent = self.concrete.static(buffer.shape[axis], f"shape of {buffer.name}")
        found = self.concrete.bound(index)
        low, high = interval(found, self.ranges)
        text = self._integer(found)
        if low >= 0 and high < extent:
            return text
        self.temporaries += 1
        t = f"t{self.temporaries}"
        fault = f"fault({self.buffers[buffer][1:]}, {axis}, {t}, {extent})"
        return f"({t} if 0 <= ({t} := {text}) < {extent} else {fault})"


def aligned(base: tuple[Int, ...], indices: tuple[Int, ...]) -> tuple[Int, ...]:
    """`indices` added to the last dimensions of `base`."""
    lead = len(base) - len(indices)
    return base[:lead] + tuple(b + i for b, i in zip(base[lead:], indices, strict=True))
