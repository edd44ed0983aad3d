"""The learned model: boosted trees that rank the candidates of a task, and trees that say which will fail.

The ranking loss is pairwise logistic within each group (RankNet; Burges 2010), pairs weighted by how far their labels
lie apart, so that telling a fast candidate from a slow one counts and noise between equals does not. Failed candidates
take no part in it; where there are enough of them a classifier learns the probability that a candidate is valid.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import xgboost

from autosched.cost import boosting
from autosched.cost.boosting import BoostingOptions, Gradient
from autosched.cost.examples import Examples
from autosched.errors import InvalidInput
from autosched.features.table import schema

Array = npt.NDArray[Any]
PARTNERS = 24
LEAST_VALID = 6
LEAST_FAILED = 4
FORMAT = "autosched-ranking-1"
USUAL = BoostingOptions()


@dataclass(frozen=True)
class RankingModel:
    """`scores` rank candidates, higher is better; `validity` is the probability [n] that each is valid."""

    ranker: xgboost.Booster = field(repr=False)
    classifier: xgboost.Booster | None = field(default=None, repr=False)
    n_examples: int = 0

    def scores(self, features: Array) -> Array:
        """Rank scores [n] of float32 features [n, F]."""
        return boosting.predict(self.ranker, features)

    def validity(self, features: Array) -> Array:
        if self.classifier is None:
            return np.ones(len(features))
        return np.asarray(1.0 / (1.0 + np.exp(-boosting.predict(self.classifier, features))))

    def to_json(self) -> str:
        """The model as text, with the schema of the features it reads."""
        found = {
            "format": FORMAT,
            "schema": schema(),
            "n_examples": self.n_examples,
            "ranker": boosting.to_text(self.ranker),
            "classifier": boosting.to_text(self.classifier) if self.classifier else None,
        }
        return json.dumps(found)

    @staticmethod
    def from_json(text: str, threads: int = 1) -> RankingModel:
        """Raises InvalidInput for text of another format or features of another schema."""
        try:
            found = json.loads(text)
        except ValueError as error:
            raise InvalidInput(f"cost model: not JSON ({error})") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InvalidInput(f"cost model: format is not {FORMAT!r}")
        if found["schema"] != schema():
            raise InvalidInput(
                f"cost model: trained on features {found['schema']}, this version has {schema()}"
            )
        classifier = found["classifier"]
        return RankingModel(
            boosting.from_text(found["ranker"], threads),
            boosting.from_text(classifier, threads) if classifier else None,
            found["n_examples"],
        )


def train(examples: Examples, options: BoostingOptions = USUAL) -> RankingModel | None:
    """A model of the examples; None if they cannot be ranked: too few valid ones, or all equal."""
    valid = examples.valid
    if int(valid.sum()) < LEAST_VALID:
        return None
    gradient = pairwise(examples.labels[valid], examples.groups[valid])
    if gradient is None:
        return None
    ranker = boosting.fit(examples.features[valid], gradient, options)
    classifier = None
    if len(examples) - int(valid.sum()) >= LEAST_FAILED:
        few = BoostingOptions(rounds=30, depth=3, rate=0.3, threads=options.threads)
        classifier = boosting.fit(examples.features, _logistic(valid), few)
    return RankingModel(ranker, classifier, len(examples))


def pairwise(labels: Array, groups: Array) -> Gradient | None:
    """The gradient of the pairwise loss; None if no pair of a group differs."""
    better, worse = _pairs(labels, groups)
    if len(better) == 0:
        return None
    weight = labels[better] - labels[worse]
    n = len(labels)
    total = np.bincount(better, weight, n) + np.bincount(worse, weight, n)
    scale = 4.0 / max(float(total[total > 0].mean()), 1e-9)

    def gradient(predictions: Array) -> tuple[Array, Array]:
        wrong = 1.0 / (1.0 + np.exp(predictions[better] - predictions[worse]))
        push = weight * wrong * scale
        curve = push * (1.0 - wrong)
        first = np.bincount(worse, push, n) - np.bincount(better, push, n)
        return first, np.bincount(worse, curve, n) + np.bincount(better, curve, n)

    return gradient


def _pairs(labels: Array, groups: Array) -> tuple[Array, Array]:
    """Pairs within groups whose labels differ, better first: each row with up to `PARTNERS` others, drawn once."""
    rng = np.random.Generator(np.random.PCG64(0))
    left: list[Array] = []
    right: list[Array] = []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        n = len(rows)
        shifts = np.arange(1, n) if n - 1 <= PARTNERS else 1 + rng.permutation(n - 1)[:PARTNERS]
        order = rng.permutation(n)
        for shift in shifts:
            left.append(rows[order])
            right.append(rows[np.roll(order, int(shift))])
    if not left:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    a, b = np.concatenate(left), np.concatenate(right)
    a, b = np.where(labels[a] >= labels[b], a, b), np.where(labels[a] >= labels[b], b, a)
    differ = labels[a] > labels[b]
    return a[differ], b[differ]


def _logistic(truth: Array) -> Gradient:
    """The gradient of the logistic loss, classes balanced."""
    share = truth.mean()
    weight = np.where(truth, 0.5 / max(share, 1e-9), 0.5 / max(1 - share, 1e-9))

    def gradient(predictions: Array) -> tuple[Array, Array]:
        chance = 1.0 / (1.0 + np.exp(-predictions))
        return (chance - truth) * weight, chance * (1 - chance) * weight

    return gradient
