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


def relative_error(actual: Array, expected: Array) -> float:
    """Largest |actual - expected| over the largest |expected|; 0 for equal arrays, infinite for other shapes."""
    a, b = np.asarray(actual), np.asarray(expected)
    if a.shape != b.shape:
        return float("inf")
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    difference = float(np.max(np.abs(a[finite] - b[finite]), initial=0.0))
    if difference == 0.0:
        return 0.0
    if not np.isfinite(difference):
        return float("inf")
    largest = float(np.max(np.abs(b[finite]), initial=0.0))
    return difference / largest if largest else float("inf")
