"""Comparisons and their report: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from autosched.graph.graph import Array

WORKLOAD_LIMIT = 1e-4
"""Largest absolute error allowed, as a share of the largest expected value."""

Kind = Literal["workload", "logits", "output", "expected"]


@dataclass(frozen=True)
class Comparison:
    """One tensor compared. `error` is the largest absolute difference over the largest expected absolute value;
    infinite if a value is not finite where the expected one is, or the other way round."""

    kind: Kind
    tensor: str
    workload_key: str
    error: float
    limit: float

    @property
    def passed(self) -> bool:
        return self.error <= self.limit


@dataclass(frozen=True)
class VerificationReport:
    """All comparisons of one run, in plan order."""

    comparisons: tuple[Comparison, ...]

    @property
    def passed(self) -> bool:
        return all(c.passed for c in self.comparisons)

    @property
    def failures(self) -> tuple[Comparison, ...]:
        return tuple(c for c in self.comparisons if not c.passed)

    @property
    def worst(self) -> Comparison:
        """The comparison nearest to its limit or farthest beyond it."""
        return max(self.comparisons, key=lambda c: c.error / c.limit if c.limit else c.error)


def absolute_errors(actual: Array, expected: Array) -> Array:
    """|actual - expected| of each element in float64: 0 where both are the same infinity or NaN, infinite where one
    alone is; of another shape everything is infinitely wrong."""
    a, b = np.asarray(actual), np.asarray(expected)
    if a.shape != b.shape:
        return np.asarray(np.inf)
    a, b = a.astype(np.float64), b.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        return np.where(same, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf))


def largest_error(actual: Array, expected: Array) -> float:
    """The largest of `absolute_errors`; 0 for no elements."""
    return float(np.max(absolute_errors(actual, expected), initial=0.0))


def relative_error(actual: Array, expected: Array) -> float:
    """The largest error over the largest finite |expected|; 0 for equal arrays, infinite where nothing else is
    finite."""
    error = largest_error(actual, expected)
    wanted = np.abs(np.asarray(expected).astype(np.float64))
    largest = float(np.max(wanted[np.isfinite(wanted)], initial=0.0))
    if error == 0.0:
        return 0.0
    return error / largest if largest else float("inf")
