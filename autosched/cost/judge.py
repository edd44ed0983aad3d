"""How good a ranking is for a search: what it finds near its top, never how near its numbers come."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def recall_at(scores: Array, seconds: Array, k: int) -> float:
    """Share of the `k` fastest that are among the `k` highest scores."""
    k = min(k, len(seconds))
    top = set(np.argsort(-scores, kind="stable")[:k].tolist())
    fastest = set(np.argsort(seconds, kind="stable")[:k].tolist())
    return len(top & fastest) / k if k else 1.0


def best_at(scores: Array, seconds: Array, k: int) -> float:
    """Speed of the fastest of the `k` highest scores over the fastest of all, in (0, 1]."""
    top = np.argsort(-scores, kind="stable")[:k]
    return float(np.min(seconds) / np.min(seconds[top]))


def best_against_trials(seconds: Array) -> Array:
    """Fastest so far after each trial [n]; NaN counts as no result."""
    return np.fmin.accumulate(seconds)
