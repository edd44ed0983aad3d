"""The analytic and the learned model on recorded measurements: what they find near their top.

`recorded/` holds times of one thread (microseconds) with the derivation and the values of each candidate; rows that
today's rules no longer give are left out, and a recording of which little is left is skipped: record it anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from autosched.cost.analytic import analytic_scores
from autosched.cost.examples import make_examples
from autosched.cost.judge import best_at, recall_at
from autosched.cost.ranking import train
from autosched.features.space import Space
from autosched.ops.suite import suite_workload
from autosched.records.record import Candidate
from autosched.search.ledger import Catalogue
from autosched.sketch.generate import generate
from autosched.target.target import Target
from autosched.te.canonical import canonical

RECORDED = sorted(Path(__file__).with_name("recorded").glob("*.json"))
TARGET = Target("cpu", "x86-64", ("avx2", "fma"), "", 1, 32, 16, 32 << 10, 512 << 10, 32 << 20)
LEAST_ROWS = 60


def recorded(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features [n, F] and seconds [n] of what the rules still give."""
    found = json.loads(path.read_text())
    space = Space(generate(canonical(suite_workload(found["case"])), TARGET), TARGET)
    catalogue = Catalogue(space)
    candidates = []
    for structure, *values, _ in found["rows"]:
        derivation = found["derivations"][structure]
        named = dict(zip(found["names"], values, strict=True))
        candidates.append(Candidate(tuple(derivation), named, ""))
    population, places = catalogue.population(candidates)
    seconds = np.array([found["rows"][i][-1] for i in places]) * 1e-6
    return space.features(population), seconds


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: p.stem)
def test_models_find_what_is_fast(path: Path) -> None:
    features, seconds = recorded(path)
    if len(seconds) < LEAST_ROWS:
        pytest.skip(f"{path.name}: {len(seconds)} rows are left of it under today's rules")
    analytic = analytic_scores(features)
    k = len(seconds) // 4
    assert recall_at(analytic, seconds, k) > 0.35
    assert best_at(analytic, seconds, 16) > 0.8
    order = np.random.default_rng(0).permutation(len(seconds))
    half = len(order) // 2
    recalls, bests = [], []
    for known, unseen in ((order[:half], order[half:]), (order[half:], order[:half])):
        groups = np.zeros(len(known), np.int64)
        model = train(make_examples(features[known], seconds[known], groups))
        assert model is not None
        scores = model.scores(features[unseen])
        recalls.append(recall_at(scores, seconds[unseen], len(unseen) // 4))
        bests.append(best_at(scores, seconds[unseen], 8))
    print(f"{path.stem}: recall {np.mean(recalls):.2f}, best of 8 at {np.mean(bests):.2f}")
    assert np.mean(recalls) > 0.4
    assert np.mean(bests) > 0.75
