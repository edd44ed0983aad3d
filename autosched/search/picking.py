"""From a ranked population to proposals: best first, no key twice, no structure class too often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from autosched.features.columns import Array
from autosched.features.population import Population
from autosched.features.table import FEATURES, schema
from autosched.search.ledger import Catalogue
from autosched.search.proposal import Proposal

_SHAPE = [i for i, f in enumerate(FEATURES) if f.name in ("main.lanes", "main.vector_size")]
MOST_KEYED = 12
"""Concrete nests keyed for each proposal asked for: bounds the work where most keys are taken."""


def structure_classes(
    population: Population, features: npt.NDArray[np.float32]
) -> list[tuple[int, ...]]:
    """Sketch and shape of the register block: what makes candidates different in kind."""
    shape = block_shapes(features)
    return [(int(s), *map(int, row)) for s, row in zip(population.sketch, shape, strict=True)]


def block_shapes(features: npt.NDArray[np.float32]) -> Array:
    """Elements of the register block and of its vector axis, [n, 2]."""
    return np.asarray(np.rint(np.expm1(features[:, _SHAPE])).astype(np.int64))


@dataclass
class Basket:
    """Collects proposals of one round; `taken` are the keys that are spoken for, grown as proposals are added. Candidates
    that look the same to the model are taken for the same until the space must be gone through to its end."""

    catalogue: Catalogue
    size: int
    taken: set[str]
    proposals: list[Proposal] = field(default_factory=list)
    classes: Counter[tuple[int, ...]] = field(default_factory=Counter)
    looks: set[bytes] = field(default_factory=set)

    @property
    def missing(self) -> int:
        return self.size - len(self.proposals)

    def fill(
        self,
        population: Population,
        features: npt.NDArray[np.float32],
        order: Iterable[int] | Array,
        n: int,
        *,
        origin: str,
        most_of_a_class: int | None = None,
        exhaustive: bool = False,
    ) -> int:
        """Adds up to `n` candidates in the given order of rows; how many were added. `exhaustive`: looks at all."""
        wanted = min(n, self.missing)
        added = keyed = 0
        kinds = structure_classes(population, features)
        for row in map(int, order):
            if added >= wanted or (keyed >= MOST_KEYED * max(n, 4) and not exhaustive):
                break
            row_bytes = features[row].tobytes()
            full = most_of_a_class is not None and self.classes[kinds[row]] >= most_of_a_class
            if full or (row_bytes in self.looks and not exhaustive):
                continue
            self.looks.add(row_bytes)
            candidate = self.catalogue.candidate(population, row)
            keyed += 1
            if candidate.key in self.taken:
                continue
            self.taken.add(candidate.key)
            self.classes[kinds[row]] += 1
            values = tuple(float(x) for x in features[row])
            self.proposals.append(Proposal(candidate, values, schema(), origin))
            added += 1
        return added
