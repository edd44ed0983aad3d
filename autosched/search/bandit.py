"""How the next population is divided among the sketches: what ran fast gets more, what is untried keeps a chance."""

from __future__ import annotations

import numpy as np

from autosched.features.columns import Array
from autosched.search.ledger import Results

GREED = 4.0
"""Power of relative speed: a sketch at 0.8 of the best gets 0.41 of its share."""
OPTIMISM = 0.85
"""Relative speed that an untried sketch is trusted with."""
LEAST = 0.05


def sketch_weights(n_sketches: int, live: Array, results: Results) -> Array:
    """Weight [n_sketches] of each sketch; 0 for those that are not live.

    The speed of a sketch is its best time against the best of all. One whose candidates all failed falls with every
    failure; one tried a few times keeps part of the optimism.
    """
    weights = np.zeros(n_sketches)
    best = np.nanmin(results.seconds) if np.isfinite(results.seconds).any() else np.nan
    for sketch in map(int, live):
        mine = results.seconds[results.population.sketch == sketch]
        speed = OPTIMISM
        if np.isfinite(mine).any():
            hope = OPTIMISM / np.sqrt(len(mine))
            speed = max(float(best / np.nanmin(mine)), hope)
        elif len(mine):
            speed = OPTIMISM / (1 + len(mine))
        weights[sketch] = max(LEAST, speed**GREED)
    return weights


def chosen(weights: Array, n: int, rng: np.random.Generator) -> Array:
    """The weights with all but `n` sketches at 0: the heaviest three quarters of `n`, the rest drawn by weight."""
    open_sketches = np.flatnonzero(weights)
    if len(open_sketches) <= n:
        return weights
    order = open_sketches[np.argsort(-weights[open_sketches], kind="stable")]
    first = n * 3 // 4
    rest = order[first:]
    drawn = rng.choice(rest, n - first, replace=False, p=weights[rest] / weights[rest].sum())
    kept = np.zeros_like(weights)
    for sketch in (*order[:first], *drawn):
        kept[sketch] = weights[sketch]
    return kept
