"""Fold: the lanes of register buffers combined into one element.

Whole vectors combine first, then a vector with itself by halves (8 -> 4 -> 2 -> 1); what is no whole vector follows one
element after another. Any combiner, any number of components.
"""

from __future__ import annotations

from autosched.codegen.c.accesses import Access, RegisterAccess, access
from autosched.codegen.c.conversions import Value, computed_dtype
from autosched.codegen.c.lanes import Lanes, Point
from autosched.codegen.c.printing import Printing
from autosched.codegen.c.statements import combined
from autosched.codegen.c.values import Values
from autosched.nest.nodes import Fold

Tuple = list[Value]


def print_fold(printing: Printing, node: Fold) -> None:
    targets = [access(printing, b, node.indices) for b in node.buffers]
    lanes = printing.scope.lanes.scalars_only()
    folding = _Folding(printing, node)
    for point in lanes.over(lanes.symbols, vector=False):
        total = folding.at(point)
        for target, buffer, value in zip(targets, node.buffers, total, strict=True):
            target.store(point, folding.values.cast(value, computed_dtype(buffer.dtype)).text)


class _Folding:
    def __init__(self, printing: Printing, node: Fold) -> None:
        self.values = Values(printing)
        self._printing = printing
        self._node = node
        self._size = printing.scope.static(node.size, "the size of a fold")
        self._dtypes = tuple(computed_dtype(b.dtype) for b in node.sources)
        self._sources = self._opened_sources()

    def _opened_sources(self) -> list[Access]:
        """The sources with the folded lane open beside the others."""
        scope = self._printing.scope
        lanes = scope.lanes.scalars_only()
        opened = Lanes({**lanes.scalar, self._node.lane: tuple(range(self._size))})
        with scope.with_lanes(opened):
            return [
                access(self._printing, b, self._node.source_indices) for b in self._node.sources
            ]

    def at(self, point: Point) -> Tuple:
        vectors = self._whole_vectors(point)
        done = sum(v[0].width for v in vectors)
        total = self._halved(vectors) if vectors else None
        for lane in range(done, self._size):
            at = Point({**point.values, self._node.lane: lane})
            new = [
                Value(s.load(at), d, 1) for s, d in zip(self._sources, self._dtypes, strict=True)
            ]
            total = new if total is None else self._combined(total, new)
        assert total is not None, "a fold over no lanes"
        return total

    def _combined(self, a: Tuple, b: Tuple) -> Tuple:
        return combined(self.values, self._node.combiner, self._dtypes, a, b)

    def _whole_vectors(self, point: Point) -> list[Tuple]:
        """The leading variables whose every lane is folded."""
        found: list[Tuple] = []
        start = 0
        while start + 1 < self._size:
            parts = [self._variable(s, point, start) for s in self._sources]
            names = [p[0] for p in parts if p is not None]
            widths = {p[1] for p in parts if p is not None}
            if len(names) < len(parts) or len(widths) > 1 or start + max(widths) > self._size:
                break
            width = widths.pop()
            found.append([Value(n, d, width) for n, d in zip(names, self._dtypes, strict=True)])
            start += width
        return found

    def _variable(self, source: Access, point: Point, lane: int) -> tuple[str, int] | None:
        """The vector variable that starts at a lane of the fold, with its width."""
        if not isinstance(source, RegisterAccess):
            return None
        at, beyond = (
            source.register.variable(
                source.index(Point({**point.values, self._node.lane: lane + n}))
            )
            for n in (0, 1)
        )
        name, width, first = at
        return (name, width) if first == 0 and width > 1 and beyond == (name, width, 1) else None

    def _halved(self, vectors: list[Tuple]) -> Tuple:
        """One element: vectors of one width join in pairs, the result is halved until it meets the next width."""
        rest = list(vectors)
        width = rest[0][0].width
        total: Tuple | None = None
        while width > 1:
            level = [v for v in rest if v[0].width == width] + ([total] if total else [])
            total = self._halves_joined(self._joined(level))
            width //= 2
        assert total is not None
        return total

    def _joined(self, level: list[Tuple]) -> Tuple:
        while len(level) > 1:
            pairs = [
                [self.values.named(v) for v in self._combined(a, b)]
                for a, b in zip(level[::2], level[1::2], strict=False)
            ]
            level = pairs + ([level[-1]] if len(level) % 2 else [])
        return level[0]

    def _halves_joined(self, total: Tuple) -> Tuple:
        width = total[0].width
        function = self._printing.prelude.function
        total = [self.values.named(v) for v in total]
        low, high = (
            [
                Value(f"{function(side, v.dtype, width)}({v.text})", v.dtype, width // 2)
                for v in total
            ]
            for side in ("low", "high")
        )
        return self._combined(low, high)
