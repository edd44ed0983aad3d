"""Random candidates: uniform over the domains of chosen sketches, kept where the constraints hold."""

from __future__ import annotations

import numpy as np

from autosched.features.columns import Array
from autosched.features.population import ABSENT, Population, joined
from autosched.features.space import Space

MOST_BATCHES = 12
SMALLEST_BATCH = 64


def uniform(space: Space, sketch: int, n: int, rng: np.random.Generator) -> Population:
    """`n` points of the product of the domains, whether they keep the constraints or not."""
    values = np.full((n, len(space.names)), ABSENT, np.int64)
    for name, domain in space.domains[sketch].items():
        values[:, space.position(name)] = domain[rng.integers(0, len(domain), n)]
    return Population(np.full(n, sketch, np.int32), values)


def sample(space: Space, sketch: int, n: int, rng: np.random.Generator) -> Population:
    """Up to `n` distinct legal candidates of a sketch, by rejection in a bounded number of batches."""
    kept: list[Population] = []
    found, tried = 0, 0
    for _ in range(MOST_BATCHES):
        rate = max(found, 1) / max(tried, 4)
        batch = min(8192, max(SMALLEST_BATCH, int(1.3 * (n - found) / rate)))
        drawn = uniform(space, sketch, batch, rng)
        drawn = drawn.take(space.admissible(drawn))
        kept.append(drawn)
        found += len(drawn)
        tried += batch
        if found >= n:
            break
    result = joined(kept, len(space.names)).distinct()
    return result.take(np.arange(min(n, len(result))))


def sample_each(space: Space, counts: Array, rng: np.random.Generator) -> Population:
    """Legal candidates of several sketches: `counts[sketch]` of each, fewer where a sketch has no more."""
    parts = [sample(space, s, int(n), rng) for s, n in enumerate(counts) if n > 0]
    return joined(parts, len(space.names))


def shares(weights: Array, n: int) -> Array:
    """`n` split in proportion to the weights, largest remainders first; every positive weight gets at least one
    while there are enough."""
    total = float(weights.sum())
    if total <= 0 or n <= 0:
        return np.zeros(len(weights), np.int64)
    exact = weights / total * n
    counts = np.floor(exact).astype(np.int64)
    if n >= np.count_nonzero(weights):
        counts = np.maximum(counts, (weights > 0).astype(np.int64))
    order = np.argsort(-(exact - np.floor(exact)), kind="stable")
    for i in order[: max(0, n - int(counts.sum()))]:
        counts[i] += 1
    return counts


def enumerated(space: Space, sketch: int) -> Population:
    """Every legal candidate of a sketch; for spaces whose `size` is small."""
    domains = space.domains[sketch]
    grid = np.meshgrid(*domains.values(), indexing="ij") if domains else []
    n = int(np.prod([len(d) for d in domains.values()])) if domains else 1
    values = np.full((n, len(space.names)), ABSENT, np.int64)
    for name, column in zip(domains, grid, strict=True):
        values[:, space.position(name)] = column.ravel()
    found = Population(np.full(n, sketch, np.int32), values)
    return found.take(space.admissible(found))
