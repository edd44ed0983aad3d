"""Column expressions: one small engine that turns formulas over arrays into few NumPy calls.

A column is a formula whose value is an array with one element a candidate. A graph interns columns, so that a common
part is computed once; `compile_columns` orders what the outputs need and reuses registers as soon as they are free,
so a run allocates nothing and stays in the cache. Two programs are made with it: the slots of one sketch, in float64
(integers below 2**53 are exact there, division included, and larger ones cannot wrap), and the feature formulas over
the slots of the whole population, in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from autosched.te.integer import Int

Array = npt.NDArray[Any]
Instruction = tuple[Callable[..., Any], tuple[int, ...], int]


def _choose(condition: Array, a: Array, b: Array, out: Array) -> None:
    np.copyto(out, b)
    np.copyto(out, a, where=condition.astype(bool))


def _low_bit(a: Array, out: Array) -> None:
    """The largest power of two that divides `a` (0 for 0)."""
    whole = np.asarray(a).astype(np.int64)
    np.copyto(out, np.bitwise_and(whole, -whole), casting="unsafe")


def _exclusive_or(a: Array, b: Array, out: Array) -> None:
    left, right = np.asarray(a).astype(np.int64), np.asarray(b).astype(np.int64)
    np.copyto(out, np.bitwise_xor(left, right), casting="unsafe")


CALLS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floor": np.floor,
    "ceil": np.ceil,
    "min": np.minimum,
    "max": np.maximum,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "xor": _exclusive_or,
    "choose": _choose,
    "lowbit": _low_bit,
    "copy": np.positive,
}
"""What an instruction calls: operands, then the array that takes the result."""

_FOLDED: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b if b else math.inf,
    "floor": math.floor,
    "ceil": math.ceil,
    "min": min,
    "max": max,
    "lt": lambda a, b: float(a < b),
    "le": lambda a, b: float(a <= b),
    "eq": lambda a, b: float(a == b),
    "xor": lambda a, b: int(a) ^ int(b),
    "lowbit": lambda a: int(a) & -int(a),
}
COMMUTATIVE = frozenset(("add", "mul", "min", "max"))
_NEUTRAL: dict[str, float] = {"add": 0.0, "sub": 0.0, "mul": 1.0, "div": 1.0}


@dataclass(frozen=True, eq=False)
class Column:
    """One node: an operation on columns, an input (`op == "input"`) or a constant (`op == "const"`)."""

    graph: ColumnGraph = field(repr=False)
    op: str
    args: tuple[Column, ...] = ()
    value: float = 0.0
    name: str = ""

    def __add__(self, other: Column | float) -> Column:
        return self.graph.apply("add", self, other)

    def __radd__(self, other: float) -> Column:
        return self.graph.apply("add", other, self)

    def __sub__(self, other: Column | float) -> Column:
        return self.graph.apply("sub", self, other)

    def __rsub__(self, other: float) -> Column:
        return self.graph.apply("sub", other, self)

    def __mul__(self, other: Column | float) -> Column:
        return self.graph.apply("mul", self, other)

    def __rmul__(self, other: float) -> Column:
        return self.graph.apply("mul", other, self)

    def __truediv__(self, other: Column | float) -> Column:
        return self.graph.apply("div", self, other)

    def __rtruediv__(self, other: float) -> Column:
        return self.graph.apply("div", other, self)

    def choose(self, a: Column | float, b: Column | float) -> Column:
        """`a` where this condition is not 0, else `b`."""
        return self.graph.apply("choose", self, a, b)

    def low_bit(self) -> Column:
        """The largest power of two that divides the value."""
        return self.graph.apply("lowbit", self)

    def ceil(self) -> Column:
        return self.graph.apply("ceil", self)


class ColumnGraph:
    """Makes and interns columns."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Column] = {}
        self._whole: dict[Int, Column] = {}

    def input(self, name: str) -> Column:
        """The input of this name: one row of the array a program is run on."""
        return self._node("input", (), 0.0, name)

    def constant(self, value: float) -> Column:
        return self._node("const", (), float(value), "")

    def apply(self, op: str, *operands: Column | float) -> Column:
        """The operation of these operands; constants fold, neutral elements vanish."""
        args = tuple(a if isinstance(a, Column) else self.constant(a) for a in operands)
        first, last = args[0], args[-1]
        if first.op == "const":
            if last.op == "const" and op in _FOLDED:
                return self.constant(_FOLDED[op](*(a.value for a in args)))
            if op == "choose":
                return args[1] if first.value else args[2]
            if op in COMMUTATIVE:
                args, last = (last, first), first
        if last.op == "const":
            if _NEUTRAL.get(op) == last.value:
                return args[0]
            if op == "mul" and last.value == 0.0:
                return last
        return self._node(op, args, 0.0, "")

    def total(self, columns: Sequence[Column]) -> Column:
        """The sum; 0 for none."""
        result = self.constant(0.0)
        for column in columns:
            result = result + column
        return result

    def maximum(self, a: Column | float, b: Column | float) -> Column:
        return self.apply("max", a, b)

    def minimum(self, a: Column | float, b: Column | float) -> Column:
        return self.apply("min", a, b)

    def integer(self, expression: Int) -> Column:
        """The column of an integer expression; its symbols are inputs by their names."""
        found = self._whole.get(expression)
        if found is None:
            found = self._integer(expression)
            self._whole[expression] = found
        return found

    def _integer(self, expression: Int) -> Column:
        if expression.is_constant:
            return self.constant(expression.value)
        if expression.is_symbol:
            return self.input(expression.name)
        args = [self.integer(a) for a in expression.args]
        match expression.op:
            case "floordiv":
                return self.apply("floor", self.apply("div", *args))
            case "ceildiv":
                return self.apply("ceil", self.apply("div", *args))
            case "mod":
                return args[0] - args[1] * self.apply("floor", self.apply("div", *args))
            case "and":
                return self.apply("mul", *args)
            case "select":
                return self.apply("choose", *args)
        return self.apply(expression.op, *args)

    def whole_numbers(self) -> Mapping[Int, Column]:
        """Every integer expression compiled so far, parts included."""
        return self._whole

    def _node(self, op: str, args: tuple[Column, ...], value: float, name: str) -> Column:
        key = (op, args, value, name)
        found = self._known.get(key)
        if found is None:
            found = Column(self, op, args, value, name)
            self._known[key] = found
        return found


@dataclass(frozen=True)
class Program:
    """Instructions over numbered places: constants first, then inputs, outputs, and registers that are reused."""

    constants: tuple[float, ...]
    inputs: tuple[str, ...]
    n_outputs: int
    n_registers: int
    instructions: tuple[Instruction, ...] = field(repr=False)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array], registers: Array) -> None:
        """One array an input and an output; `registers` is scratch of at least [n_registers, rows]."""
        places: list[Any] = [*self.constants, *inputs, *outputs, *registers[: self.n_registers]]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for call, sources, result in self.instructions:
                call(*[places[s] for s in sources], out=places[result])


def compile_columns(
    outputs: Sequence[Column], inputs: Sequence[str], *, direct: bool = False
) -> Program:
    """The program that computes `outputs` in order from the named inputs.

    `direct`: results go straight to the output arrays, which then have the type of the registers; otherwise each is
    copied there, converted, as soon as it is known.
    """
    order = ordered(outputs)
    constants = [c for c in order if c.op == "const"]
    places: dict[Column, int] = {c: i for i, c in enumerate(constants)}
    by_name = {name: len(constants) + i for i, name in enumerate(inputs)}
    places.update({c: by_name[c.name] for c in order if c.op == "input"})
    first_output = len(constants) + len(inputs)
    wanted: dict[Column, list[int]] = {}
    for i, column in enumerate(outputs):
        wanted.setdefault(column, []).append(first_output + i)
    if direct:
        places.update({c: found[0] for c, found in wanted.items() if c not in places})
    registers = _Registers(first_output + len(outputs))
    last_use = {a: i for i, c in enumerate(order) for a in c.args}
    instructions: list[Instruction] = []
    for i, column in enumerate(order):
        if column.op not in ("const", "input"):
            if column not in places:
                places[column] = registers.take()
            sources = tuple(places[a] for a in column.args)
            instructions.append((CALLS[column.op], sources, places[column]))
        place = places[column]
        copies = [target for target in wanted.get(column, ()) if target != place]
        instructions.extend((CALLS["copy"], (place,), target) for target in copies)
        for dead in {c for c in (column, *column.args) if last_use.get(c, i) == i}:
            registers.give(places[dead])
    return Program(
        tuple(c.value for c in constants),
        tuple(inputs),
        len(outputs),
        registers.highest,
        tuple(instructions),
    )


class _Registers:
    """Hands out the lowest free register."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._free: list[int] = []
        self.highest = 0

    def take(self) -> int:
        if self._free:
            return self._free.pop()
        self.highest += 1
        return self._first + self.highest - 1

    def give(self, place: int) -> None:
        if place >= self._first:
            self._free.append(place)


def ordered(outputs: Sequence[Column]) -> list[Column]:
    """Every column the outputs need, operands before users."""
    order: list[Column] = []
    done: set[Column] = set()
    stack = [(c, False) for c in reversed(outputs)]
    while stack:
        column, expanded = stack.pop()
        if column in done:
            continue
        if expanded:
            done.add(column)
            order.append(column)
            continue
        stack.append((column, True))
        stack.extend((a, False) for a in reversed(column.args))
    return order
