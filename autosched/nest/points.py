"""The points at which a statement is executed, as integer columns: one row a point, one column a variable.

    Loop i < 3: Loop j < i + 1:  ->  i: 0 1 1 2 2 2    j: 0 0 1 0 1 2

Limits, tails and guards are evaluated, not bounded, so what is said about the rows is exact. Where there would be more
than `most` rows, evenly spaced ones of the outer points are kept, the first and the last among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autosched.nest.concrete import Concrete
from autosched.te.integer import Int, evaluate

Column = np.ndarray[Any, np.dtype[np.int64]]

MOST_ROWS = 20_000


class Points:
    """Columns of the open variables; immutable, every step makes new ones."""

    def __init__(self, concrete: Concrete, columns: Mapping[Int, Column], rows: int) -> None:
        self.concrete, self.columns, self.rows = concrete, dict(columns), rows

    def column(self, expression: Int) -> Column:
        """The value of an expression at each point."""
        found = evaluate(self.concrete.bound(expression), self.columns)
        return np.broadcast_to(np.asarray(found, dtype=np.int64), (self.rows,))

    def expanded(self, var: Int, count: Column, most: int = MOST_ROWS) -> Points:
        """`var` runs over [0, count) at each point."""
        points = self
        total = int(np.maximum(count, 0).sum())
        if total > most and self.rows > 1:
            kept = max(2, self.rows * most // total)
            chosen = np.unique(np.linspace(0, self.rows - 1, kept).astype(np.int64))
            points, count = self._picked(chosen), count[chosen]
        repeats = np.maximum(count, 0)
        row = np.repeat(np.arange(points.rows), repeats)
        first = np.repeat(np.cumsum(repeats) - repeats, repeats)
        grown = points._picked(row)
        grown.columns[var] = np.arange(len(row)) - first
        return grown

    def where(self, holds: np.ndarray[Any, Any]) -> Points:
        """The points at which a condition is not 0."""
        return self._picked(np.flatnonzero(holds))

    def _picked(self, row: Column) -> Points:
        columns = {var: column[row] for var, column in self.columns.items()}
        return Points(self.concrete, columns, len(row))


def distinct(columns: list[Column], rows: int) -> Column:
    """A number for each row, equal where the columns are equal."""
    if not columns:
        return np.zeros(rows, dtype=np.int64)
    _, number = np.unique(np.stack(columns), axis=1, return_inverse=True)
    return np.asarray(number, dtype=np.int64).reshape(-1)


def one_value_each(key: Column, value: Column) -> bool:
    """Whether rows with equal keys have equal values."""
    if not len(key):
        return True
    least = np.full(int(key.max()) + 1, np.iinfo(np.int64).max)
    most = np.full(int(key.max()) + 1, -1)
    np.minimum.at(least, key, value)
    np.maximum.at(most, key, value)
    return bool((least[key] == most[key]).all())
