"""Candidates scored a second on one thread: decision arrays to model scores, over all sketches of a real workload.

    python -m pytest -m bench -s tests/bench/test_scoring_rate.py

Nothing is cached: every run reads integer decision values of distinct candidates and ends with the scores of 100 trees
trained on 256 records. The median of five runs is printed beside its parts.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from autosched.cost.boosting import BoostingOptions
from autosched.cost.examples import make_examples
from autosched.cost.ranking import RankingModel, train
from autosched.features.population import Population, joined
from autosched.features.space import Space
from autosched.features.table import FEATURES
from autosched.ops.suite import suite_workload
from autosched.search.sampling import sample_each, shares
from autosched.sketch.generate import generate
from autosched.target.target import Target
from autosched.te.canonical import canonical

CANDIDATES = 32_768
RECORDS = 256
TREES = 100
TARGET = Target("cpu", "x86_64", ("avx2", "fma"), "", 2, 32, 16, 32 << 10, 512 << 10, 16 << 20)


def candidates(space: Space, n: int) -> Population:
    """Distinct legal candidates over all sketches, in equal shares."""
    rng = np.random.default_rng(0)
    weights = np.ones(len(space.sketches))
    found = joined([], len(space.names))
    for _ in range(20):
        more = sample_each(space, shares(weights, n - len(found) + len(weights)), rng)
        found = joined([found, more], len(space.names)).distinct()
        if len(found) >= n:
            break
    chosen = found.take(np.sort(rng.permutation(len(found))[:n]))
    return chosen.take(np.argsort(chosen.sketch, kind="stable"))


def trained(space: Space, population: Population) -> RankingModel:
    """A model of made-up times that depend on many features."""
    rng = np.random.default_rng(1)
    rows = rng.permutation(len(population))[:RECORDS]
    features = space.features(population.take(np.sort(rows)))
    weights = rng.standard_normal(features.shape[1]) / (1 + features.std(axis=0))
    seconds = np.exp(0.2 * features @ weights + 0.05 * rng.standard_normal(RECORDS))
    examples = make_examples(features, seconds, np.zeros(RECORDS, np.int64))
    model = train(examples, BoostingOptions(rounds=TREES))
    assert model is not None
    return model


@pytest.mark.bench
def test_scoring_rate() -> None:
    space = Space(generate(canonical(suite_workload("CBR/2@1")), TARGET), TARGET)
    population = candidates(space, CANDIDATES)
    model = trained(space, population)
    parts = []
    for _ in range(5):
        busy = -time.process_time()
        start = time.perf_counter()
        features = space.features(population)
        middle = time.perf_counter()
        scores = model.scores(features)
        end = time.perf_counter()
        busy += time.process_time()
        assert np.isfinite(scores).all()
        parts.append((end - start, middle - start, end - middle, busy))
    whole, extraction, prediction, busy = np.median(np.array(parts), axis=0)
    print(
        f"{len(population)} candidates of {len(np.unique(population.sketch))} sketches, "
        f"{len(FEATURES)} features, {TREES} trees: {len(population) / whole:,.0f} a second "
        f"(features {extraction:.3f} s, trees {prediction:.3f} s; processor {busy:.3f} s; median of 5)"
    )
