"""The points a statement is unrolled over: lanes of the open blocks, one of them cut into vectors.

A vector lane of size 20 with 8 lanes a vector is cut into chunks of 8, 8 and 4. A tail of 11 keeps those widths, so that
registers have one type, and marks what is valid: 8 of 8, then 3 of 8. Lanes past the valid ones are computed, never stored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autosched.te.integer import Int


@dataclass(frozen=True)
class Chunk:
    """Lanes [offset, offset + valid) of the vector lane `symbol`, in a vector of `width` elements."""

    symbol: Int
    offset: int
    width: int
    valid: int

    @property
    def is_ragged(self) -> bool:
        return self.valid < self.width


@dataclass(frozen=True)
class Point:
    """A value for every scalar lane; the vector lane has its first value in `values` and its extent in `chunk`."""

    values: Mapping[Int, int]
    chunk: Chunk | None = None

    @property
    def width(self) -> int:
        return self.chunk.width if self.chunk else 1

    def lane(self, number: int) -> Point:
        """The scalar point of one lane of the chunk."""
        if self.chunk is None:
            return self
        return Point({**self.values, self.chunk.symbol: self.chunk.offset + number})


def power_of_two_above(n: int) -> int:
    return 1 << (n - 1).bit_length()


def chunk_width(size: int, offset: int, lanes: int) -> int:
    """Elements of the vector that starts at `offset` of an axis of `size`, in a target with `lanes` a register."""
    return power_of_two_above(min(lanes, size - offset))


def chunks(symbol: Int, size: int, valid: int, lanes: int) -> tuple[Chunk, ...]:
    """The vector lane cut into vectors; `size` fixes the widths, `valid` the lanes that count."""
    found = []
    for offset in range(0, valid, lanes):
        width = chunk_width(size, offset, lanes)
        found.append(Chunk(symbol, offset, width, min(width, valid - offset)))
    return tuple(found)


@dataclass(frozen=True)
class Lanes:
    """The open lanes: scalar ones with their values, and the one that runs along vectors."""

    scalar: Mapping[Int, tuple[int, ...]]
    vector: tuple[Chunk, ...] = ()

    @property
    def vector_symbol(self) -> Int | None:
        return self.vector[0].symbol if self.vector else None

    @property
    def symbols(self) -> frozenset[Int]:
        own = frozenset(self.scalar)
        return own | {self.vector[0].symbol} if self.vector else own

    @property
    def points(self) -> int:
        """How many points there are, a vector counted as one."""
        return math.prod(map(len, self.scalar.values())) * max(len(self.vector), 1)

    def values(self, symbol: Int) -> tuple[int, ...]:
        if symbol in self.scalar:
            return self.scalar[symbol]
        return tuple(i for c in self.vector for i in range(c.offset, c.offset + c.valid))

    def scalars_only(self) -> Lanes:
        """The same points with the vector lane unrolled one by one."""
        if not self.vector:
            return self
        symbol = self.vector[0].symbol
        return Lanes({**self.scalar, symbol: self.values(symbol)})

    def only(self, fixed: Mapping[Int, int]) -> Lanes:
        """The points at which the lanes in `fixed` have these values."""
        base = self.scalars_only() if self.vector_symbol in fixed else self
        scalar = {s: ((fixed[s],) if s in fixed else v) for s, v in base.scalar.items()}
        return Lanes(scalar, base.vector)

    def over(self, used: frozenset[Int], vector: bool) -> Iterator[Point]:
        """Every point of the lanes in `used`, the others at their first value; vectors where `vector` says so.

        What varies slowest is loaded once, what varies fastest stays in registers meanwhile: so the fewer of the two,
        vectors or scalar points, go fastest.
        """
        base = self if vector else self.scalars_only()
        axes = [v if s in used else v[:1] for s, v in base.scalar.items()]
        points = [
            dict(zip(base.scalar, combination, strict=True))
            for combination in itertools.product(*axes)
        ]
        if not base.vector:
            yield from map(Point, points)
        elif len(points) < len(base.vector):
            yield from (_at(p, c) for c in base.vector for p in points)
        else:
            yield from (_at(p, c) for p in points for c in base.vector)


def _at(values: dict[Int, int], chunk: Chunk) -> Point:
    at = {**values, chunk.symbol: chunk.offset}
    return Point(at) if chunk.width == 1 else Point(at, chunk)


NO_LANES = Lanes({})
