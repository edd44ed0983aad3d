"""The analytic model: estimated cycles of the busiest thread, read from the feature row.

It needs no measurement, so it discards the bottom of a raw population, ranks seeds, and stands in until a model is
trained. It is never the only ranking of a huge population, whose top is where its blind spots gather.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from autosched.features.table import FEATURES

_TOTAL = next(i for i, f in enumerate(FEATURES) if f.name == "analytic.total")


def estimated_cycles(features: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    """Estimated cycles of each row [n] of features; infinite for a row of zeros, which stands for no candidate."""
    cycles = np.expm1(features[:, _TOTAL].astype(np.float64))
    return np.asarray(np.where(cycles > 0, cycles, np.inf))


def analytic_scores(features: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    """Higher is better: minus the logarithm of the estimated cycles."""
    return np.asarray(-np.log(estimated_cycles(features)))
