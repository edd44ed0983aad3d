"""The constructive seeds of all live sketches, ranked by the analytic model: where every search starts."""

from __future__ import annotations

import numpy as np

from autosched.cost.analytic import estimated_cycles
from autosched.features.columns import Array
from autosched.features.population import Population, joined
from autosched.features.space import Space

MOST_LIVE = 16
"""Sketches a search keeps; a sketch costs a compilation of its columns, and numbers decide more than structure."""


def live_sketches(space: Space, most: int = MOST_LIVE) -> Array:
    """At most `most` sketches, evenly over the order of the rules' preference, the first always."""
    n = len(space.sketches)
    return np.arange(n) if n <= most else np.arange(most) * n // most


def ranked_seeds(space: Space, sketches: Array | None = None) -> tuple[Population, Array]:
    """Legal seeds, best first, with their estimated cycles."""
    numbers = range(len(space.sketches)) if sketches is None else [int(s) for s in sketches]
    seeds = joined([space.seeds(s) for s in numbers], len(space.names)).distinct()
    seeds = seeds.take(space.admissible(seeds))
    cycles = estimated_cycles(space.features(seeds))
    order = np.argsort(cycles, kind="stable")
    return seeds.take(order), cycles[order]


def first_of_each(population: Population) -> Array:
    """Row of the first candidate of each sketch, in order."""
    first = np.unique(population.sketch, return_index=True)[1]
    return np.sort(first)
