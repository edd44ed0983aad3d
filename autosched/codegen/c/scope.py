"""What is known where text is printed: decisions as ints, a range for each open symbol, open lanes, C names.

Everything symbolic goes through `concrete`, which puts in the decisions and folds by the ranges; so an extent of 1
becomes no loop, a guard that always holds becomes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from autosched.codegen.c.integers import integer_text
from autosched.codegen.c.lanes import NO_LANES, Lanes
from autosched.codegen.c.prelude import is_helper_name
from autosched.te.integer import UNBOUNDED, Int, Interval, as_int, substitute
from autosched.te.integer import symbols as symbols_of
from autosched.te.interval import fold, interval, linear


class Scope:
    def __init__(self, values: Mapping[Int, int], open_symbols: tuple[Int, ...] = ()) -> None:
        self._values = {s: as_int(v) for s, v in values.items()}
        self._memo: dict[Int, Int] = {}
        self._given: dict[Int, tuple[Int, tuple[Int, ...]]] = {}
        self._folded: dict[tuple[Int | Interval | None, ...], Int] = {}
        self.ranges: dict[Int, Interval] = dict.fromkeys(open_symbols, (1, UNBOUNDED[1]))
        self.lanes: Lanes = NO_LANES
        self._names: dict[Int, str] = {}
        self._taken: set[str] = set()

    def concrete(self, expression: Int) -> Int:
        """The expression with decisions put in and everything folded that the open ranges decide."""
        if expression.is_constant:
            return expression
        given, named = self._bound_to_values(expression)
        key = (given, *(self.ranges.get(s) for s in named))
        found = self._folded.get(key)
        if found is None:
            found = self._folded[key] = fold(given, self.ranges)
        return found

    def _bound_to_values(self, expression: Int) -> tuple[Int, tuple[Int, ...]]:
        """The expression with decisions put in, and the symbols that are left."""
        found = self._given.get(expression)
        if found is None:
            given = substitute(expression, self._values, self._memo)
            found = self._given[expression] = given, tuple(symbols_of(given))
        return found

    def interval(self, expression: Int) -> Interval:
        return interval(self.concrete(expression), self.ranges)

    def static(self, expression: Int, what: str) -> int:
        """The value of an expression that must not depend on anything open."""
        found = self.concrete(expression)
        if not found.is_constant:
            raise ValueError(f"{what} is {found!r}; text needs a number here")
        return found.value

    def upper(self, expression: Int, what: str) -> int:
        """The greatest value of an expression; a ValueError if nothing bounds it."""
        high = self.interval(expression)[1]
        if high >= UNBOUNDED[1]:
            raise ValueError(f"{what} is {self.concrete(expression)!r}, which nothing bounds")
        return high

    def text(self, expression: Int) -> str:
        """C text of a concrete expression: its linear form where it has one."""
        terms, constant = linear(expression)
        if not terms:
            return str(constant)
        return sum_text([self.term(a, f) for a, f in terms.items()], constant)

    def term(self, atom: Int, factor: int) -> str:
        text = self._raw(atom)
        return text if factor == 1 else f"{text} * {factor if factor >= 0 else f'({factor})'}"

    def _raw(self, expression: Int) -> str:
        return integer_text(expression, self.name, lambda e: interval(e, self.ranges))

    def name(self, symbol: Int) -> str:
        """The C name of a symbol: its own with what C does not allow replaced, made unique."""
        found = self._names.get(symbol)
        if found is None:
            found = self._names[symbol] = self.unique(symbol.name)
        return found

    def unique(self, wanted: str) -> str:
        base = re.sub(r"\W", "_", wanted)
        base = f"{base}_" if base in RESERVED or is_helper_name(base) else base
        base = f"x{base}" if base[:1].isdigit() else base
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name

    def lanes_in(self, expression: Int) -> frozenset[Int]:
        return symbols_of(expression) & self.lanes.symbols

    @contextmanager
    def bound(self, ranges: Mapping[Int, Interval]) -> Iterator[None]:
        """With these ranges known."""
        before = self.ranges
        self.ranges = {**before, **ranges}
        yield
        self.ranges = before

    @contextmanager
    def with_lanes(self, lanes: Lanes) -> Iterator[None]:
        """With these lanes open, each ranging over its values."""
        before = self.lanes
        self.lanes = lanes
        spans = {s: (min(lanes.values(s)), max(lanes.values(s))) for s in lanes.symbols}
        with self.bound(spans):
            yield
        self.lanes = before


def sum_text(terms: list[str], constant: int) -> str:
    """A sum of terms and a constant, parenthesised where it has more than one part."""
    parts = [*terms, str(constant)] if constant or not terms else terms
    text = " + ".join(parts).replace("+ -", "- ")
    return f"({text})" if len(parts) > 1 else text


RESERVED = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while in out scratch first last thread task open least greatest
    floor_div floor_mod ceil_div
    """.split()  # noqa: SIM905
)
