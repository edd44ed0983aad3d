"""Evolutionary search: every live sketch in one population, ranked by what was learned, refined around the best.

A round has four parts, each a share of what is asked for:

    seeds      constructive values of sketches that were not tried yet (first rounds)
    evolved    generations of children of the best measured and of random candidates, ranked by the model in force
    near       one step around the fastest, ranked by the same model: coordinate descent, more of it as rounds pass
    random     legal candidates drawn uniformly, against the model's blind spots (eps-greedy)

Until a model can be trained the analytic one ranks; it also discards the bottom of every raw population. Structure
classes (sketch and register block) are limited in each round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autosched.cost.analytic import analytic_scores
from autosched.cost.boosting import BoostingOptions
from autosched.cost.examples import from_history
from autosched.cost.ranking import RankingModel
from autosched.features.columns import Array
from autosched.features.population import Population, joined
from autosched.features.space import Space
from autosched.records.outcome import Outcome
from autosched.records.store import HistoryRecord
from autosched.search.bandit import chosen, sketch_weights
from autosched.search.learning import Learner
from autosched.search.ledger import Results
from autosched.search.picking import Basket, block_shapes
from autosched.search.random_policy import RandomPolicy, Stream
from autosched.search.sampling import sample_each, shares
from autosched.search.seeding import ranked_seeds, spread
from autosched.search.variation import children, neighbours

INVALID_PENALTY = 10.0
LEAST_TO_REFINE = 4
PRIOR_EXAMPLES = 24
"""Examples at which a model counts as much as the analytic estimate."""


@dataclass(frozen=True)
class EvolutionOptions:
    """Sizes of the populations and shares of a round. `kept`: share of a raw population that the analytic model lets
    through; `sketches`: how many are in one round; `refine_after`: results from which on `near_late` replaces `near_early`. `trees`: of the learned model."""

    raw: int = 2048
    parents: int = 256
    offspring: int = 1024
    generations: int = 3
    kept: float = 0.3
    elites: int = 24
    sketches: int = 10
    seeds: float = 0.5
    late_seeds: float = 0.25
    near_early: float = 0.25
    near_late: float = 0.5
    refine_after: int = 40
    random: float = 0.07
    most_of_a_class: float = 0.34
    trees: int = 100


class EvolutionaryPolicy(RandomPolicy):
    """See the module's docstring."""

    def __init__(
        self,
        space: Space,
        stream: Stream,
        history: Sequence[HistoryRecord] = (),
        *,
        lag: int = 1,
        model_threads: int = 1,
        options: EvolutionOptions | None = None,
    ) -> None:
        super().__init__(space, stream, history, lag=lag, model_threads=model_threads)
        self.options = options or EvolutionOptions()
        boosting = BoostingOptions(rounds=self.options.trees, threads=model_threads)
        workload = space.sketches[0].workload.key
        known = from_history(self.history, workload_key=workload)
        self.learner = Learner(space, self.ledger, known, boosting)
        self._known = self._known_results()

    def _known_results(self) -> Results:
        """Results of this very workload and target in the history: elites before the first round."""
        workload = self.space.sketches[0].workload.key
        target = self.space.target.key
        mine = [
            r
            for r in self.history
            if r.workload_key == workload
            and r.target_key == target
            and r.outcome is Outcome.OK
            and r.median_seconds
        ]
        population, places = self.catalogue.population([r.candidate for r in mine])
        seconds = np.array([mine[i].median_seconds for i in places], np.float64)
        return Results(population, seconds, np.isfinite(seconds))

    def _fill(self, basket: Basket, number: int, rng: np.random.Generator) -> None:
        n_rounds = self.visible_rounds(number)
        results = self.ledger.results(n_rounds)
        model = self.learner.model(n_rounds, self.notes)
        if number == 1:
            self._fill_known(basket)
        self._fill_seeds(basket, results, model)
        near = self._share_near(len(results.seconds))
        n_random = round(self.options.random * basket.size + rng.random() - 0.5)
        n_near = min(int(near * basket.size), basket.missing)
        self._fill_near(basket, results, model, n_near)
        self._fill_evolved(basket, results, model, rng, basket.missing - n_random)
        if basket.missing:
            self._fill_random(basket, rng)

    def _share_near(self, n_results: int) -> float:
        """Share of a round for steps around the fastest: none before there is something to choose from."""
        o = self.options
        if n_results < LEAST_TO_REFINE:
            return 0.0
        return o.near_late if n_results >= o.refine_after else o.near_early

    def _fill_known(self, basket: Basket) -> None:
        """The fastest of earlier jobs: a quarter of the first round."""
        rows = self._known.fastest(max(1, basket.size // 4))
        population = self._known.population.take(rows)
        features = self.space.features(population)
        basket.fill(population, features, range(len(rows)), len(rows), origin="history")

    def _fill_seeds(self, basket: Basket, results: Results, model: RankingModel | None) -> None:
        """Seeds of sketches that have no result yet, by what is expected of them and by how they differ."""
        tried = set(map(int, results.population.sketch))
        untried = np.array([s for s in map(int, self.live) if s not in tried], np.int64)
        if len(untried) == 0:
            return
        seeds, _ = ranked_seeds(self.space, untried)
        features = self.space.features(seeds)
        share = self.options.seeds if model is None else self.options.late_seeds
        n = int(np.ceil(share * basket.size))
        expected = np.exp(-self._score(features, model))
        order = spread(seeds.sketch, block_shapes(features), expected, 2 * n)
        basket.fill(seeds, features, order, n, origin="seed")

    def _score(self, features: Array, model: RankingModel | None) -> Array:
        prior = analytic_scores(features)
        if model is None:
            return prior
        trust = PRIOR_EXAMPLES / (PRIOR_EXAMPLES + model.n_examples)
        failing = model.validity(features) < 0.5
        return np.asarray(model.scores(features) + trust * prior - INVALID_PENALTY * failing)

    def _elites(self, results: Results) -> Population:
        """The fastest measured, here and in the history."""
        n = self.options.elites
        own = results.population.take(results.fastest(n))
        known = self._known.population.take(self._known.fastest(n // 2))
        return joined([own, known], len(self.space.names)).distinct()

    def _fill_near(
        self, basket: Basket, results: Results, model: RankingModel | None, n: int
    ) -> None:
        """Steps around the fastest; around the next fastest where those are all taken."""
        elites = self._elites(results)
        for row in range(min(3, len(elites))):
            wanted = n if row == 0 else n // 2
            if wanted <= 0 or basket.missing <= 0:
                return
            near = neighbours(self.space, int(elites.sketch[row]), elites.values[row])
            near = near.distinct()
            near = near.take(self.space.admissible(near))
            features = self.space.features(near)
            order = np.argsort(-self._score(features, model), kind="stable")
            n -= basket.fill(near, features, order, wanted, origin="near")

    def _fill_evolved(
        self,
        basket: Basket,
        results: Results,
        model: RankingModel | None,
        rng: np.random.Generator,
        n: int,
    ) -> None:
        if n <= 0:
            return
        population, features, scores = self._evolve(results, model, rng)
        order = np.argsort(-scores, kind="stable")
        limit = max(1, int(np.ceil(self.options.most_of_a_class * basket.size)))
        n -= basket.fill(population, features, order, n, origin="evolved", most_of_a_class=limit)
        basket.fill(population, features, order, n, origin="evolved")

    def _evolve(
        self, results: Results, model: RankingModel | None, rng: np.random.Generator
    ) -> tuple[Population, Array, Array]:
        """The last generation with everything that survived, its features and its scores."""
        o = self.options
        everything = sketch_weights(len(self.space.sketches), self.live, results)
        weights = chosen(everything, o.sketches, rng)
        population, features = self._raw(weights, rng)
        elites = self._elites(results)
        scores = self._score(features, model)
        for _ in range(o.generations):
            parents = self._parents(population, scores, elites)
            made = children(self.space, parents, o.offspring, rng, np.flatnonzero(weights))
            made = made.distinct()
            made = made.take(self.space.admissible(made))
            more = self.space.features(made)
            population = joined([population, made], len(self.space.names))
            features = np.concatenate([features, more])
            scores = np.concatenate([scores, self._score(more, model)])
            kept = np.sort(np.argsort(-scores, kind="stable")[: o.raw])
            population, features, scores = population.take(kept), features[kept], scores[kept]
        return population, features, scores

    def _raw(self, weights: Array, rng: np.random.Generator) -> tuple[Population, Array]:
        """Random candidates of all live sketches, without what the analytic model thinks least of."""
        o = self.options
        found = sample_each(self.space, shares(weights, o.raw), rng)
        features = self.space.features(found)
        order = np.argsort(-analytic_scores(features), kind="stable")
        kept = np.sort(order[: max(1, int(o.kept * len(found)))])
        return found.take(kept), features[kept]

    def _parents(self, population: Population, scores: Array, elites: Population) -> Population:
        """The best of the population, and the elites twice."""
        best = np.argsort(-scores, kind="stable")[: self.options.parents]
        return joined([population.take(best), elites, elites], len(self.space.names))
