"""The constructive seeds of all live sketches, ranked by the analytic model: where every search starts."""

from __future__ import annotations

import numpy as np

from autosched.cost.analytic import estimated_cycles
from autosched.features.columns import Array
from autosched.features.population import Population, joined
from autosched.features.space import Space

MOST_LIVE = 24
"""Sketches a search keeps; a sketch costs a compilation of its columns, and numbers decide more than structure."""


UNROLLS = (4, 2, 1)


def live_sketches(space: Space, most: int = MOST_LIVE) -> Array:
    """At most `most` sketches, evenly over the order of the rules' preference, the first always."""
    n = len(space.sketches)
    return np.arange(n) if n <= most else np.arange(most) * n // most


def ranked_seeds(space: Space, sketches: Array | None = None) -> tuple[Population, Array]:
    """Legal seeds and their less unrolled variants, best first, with their estimated cycles."""
    numbers = range(len(space.sketches)) if sketches is None else [int(s) for s in sketches]
    parts = [variant for s in numbers for variant in _less_unrolled(space, s)]
    seeds = joined(parts, len(space.names)).distinct()
    seeds = seeds.take(space.admissible(seeds))
    cycles = estimated_cycles(space.features(seeds))
    order = np.argsort(cycles, kind="stable")
    return seeds.take(order), cycles[order]


def _less_unrolled(space: Space, sketch: int) -> list[Population]:
    """The seeds as they are, and with every unroll decision (named `.u`) cut to 4, 2 and 1: a long text costs more to
    compile than it gains where the register block is large."""
    seeds = space.seeds(sketch)
    unrolled = [name for name in space.domains[sketch] if name.endswith(".u")]
    found = [seeds]
    for most in UNROLLS if unrolled else ():
        values = seeds.values.copy()
        for name in unrolled:
            domain, column = space.domains[sketch][name], space.position(name)
            allowed = domain[: max(1, int(np.searchsorted(domain, most, side="right")))]
            values[:, column] = np.minimum(values[:, column], allowed[-1])
        found.append(Population(seeds.sketch, values))
    return found


def spread(sketches: Array, shapes: Array, cycles: Array, n: int) -> list[int]:
    """Rows of `n` seeds, best first, each chosen with what is chosen already held against its kind: an estimate a
    tenth worse is taken for another register block, a sixth worse for another sketch."""
    logs = np.log(cycles)
    left = np.isfinite(logs)
    penalty = np.zeros(len(logs))
    rows: list[int] = []
    while len(rows) < n and left.any():
        row = int(np.argmin(np.where(left, logs + penalty, np.inf)))
        rows.append(row)
        left[row] = False
        penalty += 0.1 * (shapes == shapes[row]).all(axis=1) + 0.15 * (sketches == sketches[row])
    return rows
