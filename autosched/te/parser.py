"""Canonical text -> workload: the inverse of `canonical_text`, so that a stored workload can be tuned and replayed for
ever, whatever became of the file it came from.

    s0: float32[i0<8, i1<8] = mul(in0[i0, r0], in1[r0, i1]) over r0<4 by (0x0.0p+0:float32; add(a0, b0))

The text comes from a database or a request: it is data, read by a grammar of a few lines and never evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from autosched.errors import InvalidInput
from autosched.te.combiner import COMBINERS, Combiner
from autosched.te.dtype import DTYPES, is_float
from autosched.te.expr import (
    BINARY,
    UNARY,
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Load,
    Select,
    Unary,
)
from autosched.te.integer import OPERATIONS, Int, as_int, rebuilt, symbol
from autosched.te.workload import Axis, Stage, Tensor, Workload, placeholder, stage_tensors

INFIX = {
    "+": "add",
    "*": "mul",
    "/": "floordiv",
    "%": "mod",
    "<": "lt",
    "<=": "le",
    "==": "eq",
    "&&": "and",
    "^": "xor",
}
"""Operators of integer expressions, as `to_text` writes them."""

CALLS = ("ceildiv", "min", "max", "select")
"""Operations of integer expressions that `to_text` writes as functions."""

TOKEN = re.compile(
    r"\s*(?:(?P<const>-?(?:0x[0-9a-f.]+p[+-]?\d+|inf|nan|\d+):[a-z]+\d*)"
    r"|(?P<number>-?\d+)|(?P<name>[A-Za-z_][\w.]*)|(?P<sign>&&|<=|==|[-+*/%<^()\[\],]))"
)
STAGE = re.compile(r"(?P<name>[\w.]+): (?P<dtypes>[\w, ]+)\[(?P<axes>[^\]]*)\] = (?P<rest>.*)")
INPUT = re.compile(r"(?P<name>[\w.]+): (?P<dtype>\w+)\[(?P<shape>[^\]]*)\](?P<constant> constant)?")

Value = Int | Expr
T = TypeVar("T")


def parse_workload(text: str, name: str) -> Workload:
    """The workload of a canonical text; InvalidInput names the line that is none."""
    try:
        return _Document(name).parsed(text)
    except RecursionError:
        raise InvalidInput(
            f"workload {name!r}: an expression of the text is nested too deeply"
        ) from None


class _Document:
    """Line by line: inputs, stages, `return`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tensors: dict[str, Tensor] = {}
        self.inputs: list[Tensor] = []

    def parsed(self, text: str) -> Workload:
        lines = text.splitlines()
        for line in lines:
            if line.startswith("return "):
                names = line.removeprefix("return ").split(", ")
                return Workload(
                    self.name, tuple(self.inputs), tuple(self._tensor(n, line) for n in names)
                )
            if " = " in line:
                self._stage(line)
            else:
                self._input(line)
        raise InvalidInput(f"workload {self.name!r}: the text has no return line")

    def _tensor(self, name: str, line: str) -> Tensor:
        if name not in self.tensors:
            raise InvalidInput(f"workload {self.name!r}: {name!r} is not defined before: {line}")
        return self.tensors[name]

    def _input(self, line: str) -> None:
        match = INPUT.fullmatch(line)
        if match is None or match["dtype"] not in DTYPES:
            raise InvalidInput(f"workload {self.name!r}: not an input or a stage: {line}")
        shape = tuple(_Reader(p, line, {}, {}).integer() for p in _parts(match["shape"]))
        made = placeholder(match["name"], shape, match["dtype"], constant=bool(match["constant"]))
        self.tensors[match["name"]] = made
        self.inputs.append(made)

    def _stage(self, line: str) -> None:
        match = STAGE.fullmatch(line)
        if match is None:
            raise InvalidInput(f"workload {self.name!r}: not a stage: {line}")
        body, over, combiner_text = _split_reduction(match["rest"])
        axes = [_axis(a, line) for a in _parts(match["axes"])]
        reduced = [_axis(a, line) for a in _parts(over)]
        symbols = {a.name: a.symbol for a in (*axes, *reduced)}
        reader = _Reader(body, line, symbols, self.tensors)
        values = reader.expressions()
        combiner = _combiner(combiner_text, tuple(v.dtype for v in values), line)
        dtypes = tuple(_parts(match["dtypes"]))
        unknown = [d for d in dtypes if d not in DTYPES]
        if unknown or len(dtypes) != len(values) or bool(reduced) != (combiner is not None):
            raise InvalidInput(
                f"workload {self.name!r}: a stage has one known dtype a value, and a combination "
                f"if and only if it reduces: {line}"
            )
        stage = Stage(match["name"], tuple(axes), values, dtypes, tuple(reduced), combiner)
        self.tensors.update({t.name: t for t in stage_tensors(stage)})


def _parts(text: str) -> list[str]:
    return [p for p in text.split(", ") if p]


def _split_reduction(text: str) -> tuple[str, str, str]:
    """Values, reduction axes and combiner; the last two empty for a stage without a reduction."""
    body, found, rest = text.partition(" over ")
    if not found:
        return text, "", ""
    over, _, combiner = rest.partition(" by ")
    return body, over, combiner


def _axis(text: str, line: str) -> Axis:
    name, _, extent = text.partition("<")
    return Axis(symbol(name, "index"), _Reader(extent, line, {}, {}).integer())


def _combiner(text: str, dtypes: tuple[str, ...], line: str) -> Combiner | None:
    """The combiner that has this text; names stand in no key."""
    if not text:
        return None
    for combiner in COMBINERS.values():
        if combiner.width == len(dtypes) and combiner.text(dtypes) == text:
            return combiner
    raise InvalidInput(f"no known combination: {text} in {line}")


@dataclass
class _Reader:
    """Recursive descent over one expression. What names axes alone is an integer expression; whatever holds a load or
    a typed constant is a scalar one."""

    text: str
    line: str
    symbols: Mapping[str, Int]
    tensors: Mapping[str, Tensor]
    position: int = 0

    def integer(self) -> Int:
        value = self._whole(self._value)
        if not isinstance(value, Int):
            self._fail("an integer expression is needed")
        return value

    def expressions(self) -> tuple[Expr, ...]:
        """A list of scalar expressions up to the end."""
        return tuple(self._scalar(v) for v in self._whole(lambda: self._list("")))

    def _whole(self, read: Callable[[], T]) -> T:
        value = read()
        if self.text[self.position :].strip():
            self._fail("more than an expression")
        return value

    def _fail(self, why: str) -> NoReturn:
        raise InvalidInput(f"{why} at {self.text[self.position :][:40]!r} in: {self.line}")

    def _token(self) -> re.Match[str]:
        match = TOKEN.match(self.text, self.position)
        if match is None:
            self._fail("no word of an expression")
        self.position = match.end()
        return match

    def _next_is(self, sign: str) -> bool:
        match = TOKEN.match(self.text, self.position)
        if match is None or match["sign"] != sign:
            return False
        self.position = match.end()
        return True

    def _list(self, end: str) -> list[Value]:
        found = [self._value()]
        while self._next_is(","):
            found.append(self._value())
        if end and not self._next_is(end):
            self._fail(f"{end!r} is missing")
        return found

    def _value(self) -> Value:
        """A primary, and the products that stand behind it without parentheses."""
        value = self._primary()
        while self._next_is("*"):
            value = self._integer_operation("mul", [value, self._primary()])
        return value

    def _primary(self) -> Value:
        token = self._token()
        if token["const"]:
            return self._constant(token["const"])
        if token["number"]:
            return as_int(int(token["number"]))
        if token["name"]:
            return self._named(token["name"])
        if token["sign"] != "(":
            self._fail("an operand is missing")
        left = self._value()
        operator = self._token()["sign"]
        if operator not in INFIX:
            self._fail("an operator is missing")
        made = self._integer_operation(INFIX[operator], [left, self._value()])
        if not self._next_is(")"):
            self._fail("')' is missing")
        return made

    def _named(self, name: str) -> Value:
        if self._next_is("["):
            if name not in self.tensors:
                self._fail(f"{name!r} is not defined")
            source = self.tensors[name]
            indices = [] if self._next_is("]") else self._list("]")
            if len(indices) != len(source.shape):
                self._fail(
                    f"{name!r} has {len(source.shape)} dimensions, {len(indices)} indices given"
                )
            return Load(source, tuple(self._as_integer(i) for i in indices))
        if self._next_is("("):
            return self._call(name, self._list(")"))
        if name not in self.symbols:
            self._fail(f"{name!r} is not an axis")
        return self.symbols[name]

    def _call(self, name: str, arguments: Sequence[Value]) -> Value:
        integers = all(isinstance(a, Int) for a in arguments)
        if name in CALLS and integers and len(arguments) == OPERATIONS[name].arity:
            return self._integer_operation(name, arguments)
        values = [self._scalar(a) for a in arguments]
        if name == "select" and len(values) == 3:
            return Select(self._condition(arguments[0]), values[1], values[2])
        if name in DTYPES and len(values) == 1:
            return Cast(name, values[0])
        if name in UNARY and len(values) == 1:
            return Unary(name, values[0])
        if name in BINARY and len(values) == 2:
            return Binary(name, values[0], values[1])
        self._fail(f"{name!r} of {len(values)} operands is no operation")

    def _integer_operation(self, op: str, arguments: Sequence[Value]) -> Int:
        return rebuilt(op, *(self._as_integer(a) for a in arguments))

    def _as_integer(self, value: Value) -> Int:
        if not isinstance(value, Int):
            self._fail("an integer expression is needed")
        return value

    def _condition(self, value: Value) -> Expr:
        return Index(value, "bool") if isinstance(value, Int) else value

    def _scalar(self, value: Value) -> Expr:
        """A comparison of indices is a condition, any other integer expression a number."""
        if not isinstance(value, Int):
            return value
        return Index(value, "bool" if value.op in {"lt", "le", "eq", "and"} else "int64")

    def _constant(self, text: str) -> Const:
        number, _, dtype = text.rpartition(":")
        if dtype not in DTYPES:
            self._fail(f"constant {text!r} has an unknown dtype")
        try:
            value = float.fromhex(number) if is_float(dtype) else int(number)
        except (ValueError, OverflowError):
            self._fail(f"constant {text!r} is no {dtype}")
        return Const(bool(value) if dtype == "bool" else value, dtype)
