"""The learned model: ranks, survives failures, does not depend on threads, refuses another schema."""

from __future__ import annotations

import json

import numpy as np
import pytest

from autosched.cost.boosting import BoostingOptions
from autosched.cost.examples import Examples, from_history, make_examples
from autosched.cost.judge import best_against_trials, best_at, recall_at
from autosched.cost.ranking import RankingModel, train
from autosched.errors import InvalidInput
from autosched.features.table import FEATURES, schema
from autosched.records.outcome import Outcome
from autosched.records.record import Candidate
from autosched.records.store import HistoryRecord


def landscape(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and seconds that depend on a few of them, with noise."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 12, (n, len(FEATURES))).astype(np.float32)
    log_seconds = 0.3 * features[:, 3] - 0.2 * features[:, 7] + 0.1 * features[:, 11] ** 1.5
    return features, np.exp(log_seconds + 0.05 * rng.standard_normal(n)) * 1e-3


def examples(n: int, seed: int, *, failing: bool = False) -> Examples:
    features, seconds = landscape(n, seed)
    if failing:
        seconds[features[:, 5] > 8] = np.nan
    groups = np.arange(n) % 2
    return make_examples(features, seconds * (1 + 9 * groups), groups)


def test_it_ranks_what_it_has_not_seen() -> None:
    model = train(examples(300, 0))
    assert model is not None
    features, seconds = landscape(1000, 1)
    scores = model.scores(features)
    assert recall_at(scores, seconds, 100) > 0.5
    assert best_at(scores, seconds, 10) > 0.6
    assert recall_at(np.random.default_rng(0).random(1000), seconds, 100) < 0.25


def test_threads_do_not_matter() -> None:
    features, _ = landscape(500, 2)
    data = examples(160, 3, failing=True)
    one, two = (train(data, BoostingOptions(rounds=15, threads=t)) for t in (1, 2))
    assert one is not None
    assert two is not None
    assert np.array_equal(one.scores(features), two.scores(features))
    assert np.array_equal(one.validity(features), two.validity(features))
    in_columns = np.asfortranarray(features)
    assert np.array_equal(one.scores(in_columns), one.scores(features))


def test_failures_are_a_signal_of_their_own() -> None:
    model = train(examples(400, 4, failing=True))
    assert model is not None
    features, _ = landscape(500, 5)
    chance = model.validity(features)
    fails = features[:, 5] > 8
    assert chance[fails].mean() < 0.3 < 0.7 < chance[~fails].mean()


def test_what_cannot_be_ranked_gives_no_model() -> None:
    features, _ = landscape(40, 6)
    groups = np.zeros(40, np.int64)
    assert train(make_examples(features, np.full(40, np.nan), groups)) is None
    assert train(make_examples(features, np.full(40, 1e-3), groups)) is None
    assert train(make_examples(features[:3], np.array([1.0, 2.0, 3.0]), groups[:3])) is None


def test_labels_are_finite_and_normalized() -> None:
    found = examples(100, 7, failing=True)
    labels = found.labels[found.valid]
    assert labels.min() > 0
    for group in (0, 1):
        assert np.nanmax(found.labels[found.groups == group]) == 1


def test_saved_and_loaded_model_is_the_same_and_another_schema_is_refused() -> None:
    model = train(examples(200, 8, failing=True))
    assert model is not None
    text = model.to_json()
    again = RankingModel.from_json(text)
    features, _ = landscape(100, 9)
    assert np.array_equal(model.scores(features), again.scores(features))
    assert np.array_equal(model.validity(features), again.validity(features))
    other = json.dumps({**json.loads(text), "schema": "f0-0"})
    with pytest.raises(InvalidInput, match="f0-0"):
        RankingModel.from_json(other)
    with pytest.raises(InvalidInput):
        RankingModel.from_json("{")


def test_history_of_other_schemas_is_left_out() -> None:
    row = tuple(range(len(FEATURES)))

    def record(features_schema: str, outcome: Outcome, seconds: float | None) -> HistoryRecord:
        candidate = Candidate((), {}, "k")
        return HistoryRecord("t", "w", "m", "c", candidate, outcome, seconds, row, features_schema)

    found = from_history(
        [
            record(schema(), Outcome.OK, 2e-3),
            record(schema(), Outcome.OK, 1e-3),
            record(schema(), Outcome.CRASHED, None),
            record(schema(), Outcome.LOST, None),
            record("f0-0", Outcome.OK, 1e-9),
        ]
    )
    assert found.labels.tolist()[:2] == [0.5, 1.0]
    assert np.isnan(found.labels[2])
    assert len(found) == 3


def test_best_against_trials_ignores_failures() -> None:
    found = best_against_trials(np.array([np.nan, 3.0, np.nan, 2.0, 4.0]))
    assert found[1:].tolist() == [3, 3, 2, 2]
