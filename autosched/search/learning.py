"""When the model of a search is trained again, and on what: a function of the closed rounds alone.

Training sizes grow by a quarter from one to the next, so the work stays in proportion to what is learned. The model in
force was trained at the end of the first round that reached the last size passed; a search that is built anew trains
that one model and no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from autosched.cost.boosting import BoostingOptions
from autosched.cost.examples import Examples, joined, make_examples
from autosched.cost.ranking import RankingModel, train
from autosched.features.space import Space
from autosched.search.ledger import Ledger

FIRST_SIZE = 8
GROWTH = 1.25


def training_round(totals: Sequence[int], known: int) -> int | None:
    """How many rounds to train on, given the number of results after each; None before there are enough.

    `known` are examples from earlier jobs: with enough of them there is a model before the first round.
    """
    reached = 0 if known >= FIRST_SIZE else None
    threshold = float(FIRST_SIZE) if reached is None else known * GROWTH
    for i, total in enumerate(totals):
        if known + total >= threshold:
            reached = i + 1
            threshold = (known + total) * GROWTH
    return reached


@dataclass
class Learner:
    """Trains the model of a search on schedule; keeps the last one, which is a pure function of what it was told."""

    space: Space
    ledger: Ledger
    history: Examples
    boosting: BoostingOptions
    _trained: tuple[int, RankingModel | None] | None = field(default=None, repr=False)

    def model(self, n_rounds: int, notes: list[str]) -> RankingModel | None:
        """The model in force after `n_rounds` rounds; a note says why there is none where one was due."""
        totals = [self.ledger.count(i + 1) for i in range(n_rounds)]
        due = training_round(totals, len(self.history))
        if due is None:
            return None
        if self._trained is None or self._trained[0] != due:
            self._trained = due, self._train(due, notes)
        return self._trained[1]

    def _train(self, n_rounds: int, notes: list[str]) -> RankingModel | None:
        results = self.ledger.results(n_rounds)
        features = self.space.features(results.population)
        groups = np.zeros(len(results.seconds), np.int64)
        examples = joined(self.history, make_examples(features, results.seconds, groups))
        model = train(examples, self.boosting)
        if model is None:
            notes.append(
                f"the cost model could not be fitted to {len(examples)} records; "
                "the search goes on with the analytic model"
            )
        return model
