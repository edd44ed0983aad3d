"""Reading and writing elements at a point: memory by address, register buffers by variable.

Along a vector the coefficient of the vector lane in the flattened address decides: 0 broadcasts, 1 is one unaligned
load or store, anything else goes lane by lane. Of buffers that the caller owns only the valid lanes are touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from autosched.codegen.c.conversions import Conversion, computed_dtype
from autosched.codegen.c.lanes import Chunk, Point
from autosched.codegen.c.partials import partial_load, partial_store
from autosched.codegen.c.printing import Printing, is_external
from autosched.codegen.c.registers import RegisterBuffer
from autosched.codegen.c.scope import sum_text
from autosched.nest.nodes import Buffer
from autosched.te.integer import Int, as_int, evaluate, substitute
from autosched.te.integer import symbols as symbols_of
from autosched.te.interval import fold, from_linear, linear


class Access(Protocol):
    """Elements of one buffer at given indices."""

    lanes: frozenset[Int]

    def load(self, point: Point, *, inline: bool = False) -> str:
        """C text of the computed values; in a temporary unless `inline`."""
        ...

    def store(self, point: Point, text: str) -> None:
        """Assigns computed values; lanes past the valid ones keep what they hold where that matters."""
        ...


def access(printing: Printing, buffer: Buffer, indices: tuple[Int, ...]) -> Access:
    register = printing.registers.get(buffer)
    if register is not None:
        return RegisterAccess(printing, register, indices)
    return MemoryAccess(printing, buffer, indices)


@dataclass(frozen=True)
class Address:
    """base + constant, in elements; `coefficient` is that of the vector lane, None where it is not linear."""

    base: str
    constant: int
    coefficient: int | None

    @property
    def offset(self) -> str:
        if not self.base:
            return str(self.constant)
        return sum_text([self.base], self.constant)

    @property
    def is_sum(self) -> bool:
        """Whether more than one symbol or a product makes the base."""
        return " " in self.base


def flat_terms(
    printing: Printing, buffer: Buffer, indices: tuple[Int, ...]
) -> tuple[dict[Int, int], int]:
    """The flattened address as a linear form {atom: coefficient}, constant."""
    terms: dict[Int, int] = {}
    constant = 0
    for index, stride in zip(indices, printing.strides(buffer), strict=True):
        concrete = printing.scope.concrete(index)
        factor = stride.value if stride.is_constant else 1
        more, offset = linear(concrete if stride.is_constant else concrete * stride)
        constant += factor * offset
        for atom, f in more.items():
            terms[atom] = terms.get(atom, 0) + factor * f
    return {a: f for a, f in terms.items() if f}, constant


class MemoryAccess:
    def __init__(self, printing: Printing, buffer: Buffer, indices: tuple[Int, ...]) -> None:
        self._printing = printing
        self._scope = printing.scope
        self._buffer = buffer
        open_lanes = self._scope.lanes.symbols
        terms, self._constant = flat_terms(printing, buffer, indices)
        rest = [(a, f) for a, f in terms.items() if a not in open_lanes]
        hidden = frozenset[Int]().union(*(symbols_of(a) for a, _ in rest if a.args)) & open_lanes
        self._lane_terms = [(a, f) for a, f in terms.items() if a in open_lanes]
        self.lanes = hidden | {a for a, _ in self._lane_terms}
        self._is_linear = not hidden
        self._flat = as_int(0) if self._is_linear else from_linear(terms, self._constant)
        self._base = self._terms_text(rest)

    def _terms_text(self, terms: list[tuple[Int, int]]) -> str:
        return " + ".join(self._scope.term(a, f) for a, f in terms)

    def address(self, point: Point) -> Address:
        symbol = point.chunk.symbol if point.chunk else None
        if not self._is_linear:
            return self._folded_address(point, symbol)
        constant = self._constant
        coefficient = 0
        for lane, factor in self._lane_terms:
            constant += factor * point.values[lane]
            if lane is symbol:
                coefficient = factor
        return Address(self._base, constant, coefficient)

    def _folded_address(self, point: Point, symbol: Int | None) -> Address:
        """Lanes under quotients: put in the scalar lanes, fold by the range of the vector lane."""
        fixed = {s: as_int(v) for s, v in point.values.items() if s is not symbol}
        flat = substitute(self._flat, fixed)
        ranges = dict(self._scope.ranges)
        if point.chunk is not None:
            first = point.chunk.offset
            ranges[point.chunk.symbol] = (first, first + point.chunk.valid - 1)
        terms, constant = linear(fold(flat, ranges))
        coefficient: int | None = terms.pop(symbol, 0) if symbol is not None else 0
        if symbol is not None and point.chunk is not None:
            constant += (coefficient or 0) * point.chunk.offset
            if any(symbol in symbols_of(a) for a in terms):
                return Address("", 0, None)
        return Address(self._terms_text(list(terms.items())), constant, coefficient)

    def element(self, point: Point) -> str:
        name, offset = self._placed(self.address(point))
        return f"{name}[{offset}]"

    def pointer(self, point: Point) -> str:
        name, offset = self._placed(self.address(point))
        return name if offset == "0" else f"({name} + {offset})".replace("+ -", "- ")

    def _placed(self, address: Address) -> tuple[str, str]:
        """A pointer and what is left of the offset: what many points share is computed once, and a compiler that sees
        constants only is faster by a third."""
        name = self._printing.pointers[self._buffer]
        if address.is_sum:
            return self._printing.row(self._buffer, address.base), str(address.constant)
        return name, address.offset

    # loads

    def load(self, point: Point, *, inline: bool = False) -> str:
        address = self.address(point)
        width = point.width
        if address.coefficient is None:
            return self._temporary(self._gather(point), width, inline)
        key = (self._buffer, address.base, address.constant, width, address.coefficient)
        found = self._printing.loaded.get(key)
        if found is None:
            found = self._temporary(self._loaded(point, address), width, inline)
            if not inline:
                self._printing.loaded[key] = found
        return found

    def _temporary(self, text: str, width: int, inline: bool) -> str:
        type_name = self._printing.prelude.type_name(self._buffer.dtype, width)
        if inline:
            return text if width == 1 else f"(({type_name}){text})"
        name = self._printing.writer.temporary()
        self._printing.writer.line(f"const {type_name} {name} = {text};")
        return name

    def _loaded(self, point: Point, address: Address) -> str:
        chunk = point.chunk
        convert = Conversion(self._printing.prelude, self._buffer.dtype)
        if chunk is None:
            return convert.loaded(self.element(point), 1)
        if address.coefficient == 0:
            scalar = convert.loaded(self.element(point), 1)
            splat = self._printing.prelude.function(
                "splat", computed_dtype(self._buffer.dtype), chunk.width
            )
            negated = "-" if self._buffer.dtype == "bool" else ""
            return f"{splat}({negated}{scalar})"
        if address.coefficient == 1:
            return convert.loaded(self._contiguous(point, chunk), chunk.width)
        if self._is_paired(address, chunk):
            return self._every_second(point, chunk)
        return self._gather(point)

    def _is_paired(self, address: Address, chunk: Chunk) -> bool:
        """Every second element, of a type that needs no conversion, a whole vector of them."""
        native = self._buffer.dtype in ("float32", "float64", "int32", "int64")
        return address.coefficient == 2 and native and not chunk.is_ragged and chunk.width >= 4

    def _every_second(self, point: Point, chunk: Chunk) -> str:
        """Two vectors, the second ending at the last element wanted, so that nothing past it is touched."""
        stored = self._printing.prelude.stored_name(self._buffer.dtype, chunk.width)
        function = self._printing.prelude.function(
            "every_second", computed_dtype(self._buffer.dtype), chunk.width
        )
        last = self.pointer(point.lane(chunk.width - 1))
        first = f"*(const {stored}_u *){self.pointer(point)}"
        return f"{function}({first}, *(const {stored}_u *)({last} - {chunk.width - 1}))"

    def _contiguous(self, point: Point, chunk: Chunk) -> str:
        stored = self._printing.prelude.stored_name(self._buffer.dtype, chunk.width)
        if chunk.is_ragged and is_external(self._buffer):
            function = partial_load(self._printing.prelude, self._buffer.dtype, chunk)
            return f"{function}({self.pointer(point)})"
        return f"*(const {stored}_u *){self.pointer(point)}"

    def _gather(self, point: Point) -> str:
        chunk = point.chunk
        assert chunk is not None
        convert = Conversion(self._printing.prelude, self._buffer.dtype)
        sign = "-" if self._buffer.dtype == "bool" else ""
        parts = [
            sign + convert.loaded(self.element(point.lane(i)), 1) if i < chunk.valid else "0"
            for i in range(chunk.width)
        ]
        type_name = self._printing.prelude.type_name(self._buffer.dtype, chunk.width)
        return f"({type_name}){{{', '.join(parts)}}}"

    # stores

    def store(self, point: Point, text: str) -> None:
        line = self._printing.writer.line
        convert = Conversion(self._printing.prelude, self._buffer.dtype)
        chunk = point.chunk
        if chunk is None:
            line(f"{self.element(point)} = {convert.stored(text, 1)};")
        elif self.address(point).coefficient == 1:
            self._store_contiguous(point, chunk, convert.stored(text, chunk.width))
        else:
            self._scatter(point, chunk, convert.stored(text, chunk.width))
        self._printing.stored_to(self._buffer)

    def _store_contiguous(self, point: Point, chunk: Chunk, text: str) -> None:
        line = self._printing.writer.line
        if chunk.is_ragged:
            function = partial_store(self._printing.prelude, self._buffer.dtype, chunk)
            line(f"{function}({self.pointer(point)}, {text});")
            return
        stored = self._printing.prelude.stored_name(self._buffer.dtype, chunk.width)
        line(f"*({stored}_u *){self.pointer(point)} = {text};")

    def _scatter(self, point: Point, chunk: Chunk, text: str) -> None:
        line = self._printing.writer.line
        name = self._printing.writer.temporary()
        stored = self._printing.prelude.stored_name(self._buffer.dtype, chunk.width)
        line(f"const {stored} {name} = {text};")
        for i in range(chunk.valid):
            line(f"{self.element(point.lane(i))} = {name}[{i}];")


class RegisterAccess:
    def __init__(
        self, printing: Printing, register: RegisterBuffer, indices: tuple[Int, ...]
    ) -> None:
        self._printing = printing
        self.register = register
        self._indices = tuple(printing.scope.concrete(i) for i in indices)
        self._linear = [linear(i) for i in self._indices]
        self._along: dict[Int, bool] = {}
        used = frozenset[Int]().union(*(symbols_of(i) for i in self._indices))
        self.lanes = used & printing.scope.lanes.symbols

    def index(self, point: Point) -> tuple[int, ...]:
        """The element at a point's first lane."""
        values = point.values
        try:
            return tuple(
                constant + sum(f * values[atom] for atom, f in terms.items())
                for terms, constant in self._linear
            )
        except KeyError:
            return tuple(evaluate(i, values) for i in self._indices)

    def _whole(self, point: Point) -> str | None:
        """The variable that holds exactly the chunk, if one does."""
        chunk = point.chunk
        if chunk is None or chunk.symbol not in self.lanes or not self._runs_along(chunk.symbol):
            return None
        name, width, lane = self.register.variable(self.index(point))
        return name if lane == 0 and width == chunk.width else None

    def _runs_along(self, symbol: Int) -> bool:
        """Whether a step of the vector lane is a step of the dimension that vectors run along."""
        found = self._along.get(symbol)
        if found is None:
            found = self._along[symbol] = self._has_step_one(symbol)
        return found

    def _has_step_one(self, symbol: Int) -> bool:
        steps = [terms.get(symbol, 0) for terms, _ in self._linear]
        nested = any(a.args and symbol in symbols_of(a) for terms, _ in self._linear for a in terms)
        expected = [int(d == self.register.vector_dimension) for d in range(len(steps))]
        return steps == expected and not nested

    def load(self, point: Point, *, inline: bool = False) -> str:
        chunk = point.chunk
        if chunk is None:
            return self.register.element(self.index(point))
        whole = self._whole(point)
        if whole is not None:
            return whole
        type_name = self._printing.prelude.type_name(self.register.dtype, chunk.width)
        if chunk.symbol not in self.lanes:
            parts = [self.register.element(self.index(point))] * chunk.width
        else:
            valid = [self.register.element(self.index(point.lane(i))) for i in range(chunk.valid)]
            parts = valid + ["0"] * (chunk.width - chunk.valid)
        return f"({type_name}){{{', '.join(parts)}}}"

    def store(self, point: Point, text: str) -> None:
        line = self._printing.writer.line
        chunk = point.chunk
        if chunk is None:
            line(f"{self.register.element(self.index(point))} = {text};")
            return
        whole = self._whole(point)
        if whole is not None:
            line(f"{whole} = {self._kept(whole, chunk, text)};")
            return
        name = self._printing.writer.temporary()
        type_name = self._printing.prelude.type_name(self.register.dtype, chunk.width)
        line(f"const {type_name} {name} = {text};")
        for i in range(chunk.valid):
            line(f"{self.register.element(self.index(point.lane(i)))} = {name}[{i}];")

    def _kept(self, variable: str, chunk: Chunk, text: str) -> str:
        """Lanes past the valid ones stay as they are where another block may read them."""
        outlives = self.register.is_shared and chunk.symbol not in self.register.opened
        if not chunk.is_ragged or not outlives:
            return text
        dtype = self.register.dtype
        select = self._printing.prelude.function("select", dtype, chunk.width)
        mask = self._printing.prelude.mask_name(dtype, chunk.width)
        lanes = ", ".join("-1" if i < chunk.valid else "0" for i in range(chunk.width))
        return f"{select}(({mask}){{{lanes}}}, {text}, {variable})"
