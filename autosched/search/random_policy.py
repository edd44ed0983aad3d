"""The frame of every policy, and random search in it: seeds first, then legal candidates drawn uniformly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autosched.errors import InvalidInput
from autosched.features.space import Space
from autosched.records.record import Trial
from autosched.records.store import HistoryRecord
from autosched.search.ledger import Catalogue, Ledger
from autosched.search.picking import Basket
from autosched.search.proposal import Proposal
from autosched.search.sampling import enumerated, sample_each, shares
from autosched.search.seeding import live_sketches, ranked_seeds

ENUMERABLE = 4096
"""Spaces of no more points than this are gone through whole when sampling finds nothing new."""


@dataclass(frozen=True)
class Stream:
    """Where the random numbers of a search come from: one stream a round, whatever happened before."""

    seed: int
    task: int = 0

    def of_round(self, number: int) -> np.random.Generator:
        sequence = np.random.SeedSequence(self.seed, spawn_key=(self.task, number))
        return np.random.Generator(np.random.PCG64(sequence))


class RandomPolicy:
    """Random search. `lag`: round r is chosen from the results of rounds up to r - lag (1: all closed ones)."""

    def __init__(
        self,
        space: Space,
        stream: Stream,
        history: Sequence[HistoryRecord] = (),
        *,
        lag: int = 1,
        model_threads: int = 1,
    ) -> None:
        if not space.sketches:
            raise InvalidInput("the space has no sketch: nothing can be proposed")
        self.space = space
        self.stream = stream
        self.history = tuple(history)
        self.lag = lag
        self.model_threads = model_threads
        self.live = live_sketches(space)
        self.catalogue = Catalogue(space)
        self.ledger = Ledger(self.catalogue)
        self.notes: list[str] = []
        self._asked: set[str] = set()
        self._next_round = 1

    def default(self) -> Proposal:
        """The first of the generator's own seeds in the analytic ranking; a random candidate if there is none."""
        basket = Basket(self.catalogue, 1, set())
        seeds, _ = ranked_seeds(self.space, self.live)
        basket.fill(seeds, self.space.features(seeds), range(len(seeds)), 1, origin="seed")
        if basket.missing:
            self._fill_random(basket, self.stream.of_round(0))
        if basket.missing:
            self._fill_enumerated(basket)
        if basket.missing:
            raise InvalidInput(
                "no candidate of any sketch keeps its constraints and the static limits"
            )
        self._asked.add(basket.proposals[0].candidate.key)
        return basket.proposals[0]

    def observe(self, trials: Sequence[Trial]) -> None:
        """A closed round; rounds come in order, the default's first."""
        self.ledger.close(trials)

    def propose(self, n: int) -> list[Proposal]:
        """Candidates of the next round, best guess first."""
        number = max(self._next_round, len(self.ledger.rounds))
        self._next_round = number + 1
        basket = Basket(self.catalogue, n, set(self.ledger.keys | self._asked))
        self._fill(basket, number, self.stream.of_round(number))
        if basket.missing:
            self._fill_enumerated(basket)
        self._asked.update(p.candidate.key for p in basket.proposals)
        return basket.proposals

    def visible_rounds(self, number: int) -> int:
        """How many closed rounds round `number` may read."""
        return max(0, min(len(self.ledger.rounds), number - self.lag + 1))

    def _fill(self, basket: Basket, number: int, rng: np.random.Generator) -> None:
        self._fill_random(basket, rng)

    def _fill_random(self, basket: Basket, rng: np.random.Generator) -> None:
        """Uniform over the live sketches, of which each round draws a few: each costs an evaluation of its own."""
        n = basket.missing
        weights = np.zeros(len(self.space.sketches))
        weights[rng.permutation(self.live)[: max(4, n // 4)]] = 1.0
        population = sample_each(self.space, shares(weights, 2 * n + 16), rng)
        order = rng.permutation(len(population))
        features = self.space.features(population)
        basket.fill(population, features, order, n, origin="random")

    def _fill_enumerated(self, basket: Basket) -> None:
        """What is left of small sketches, in order."""
        small = [s for s in map(int, self.live) if self.space.size(s) <= ENUMERABLE]
        for sketch in small:
            population = enumerated(self.space, sketch)
            rows = self.space.features(population)
            order = range(len(population))
            n = basket.missing
            basket.fill(population, rows, order, n, origin="enumerated", exhaustive=True)
            if not basket.missing:
                return
