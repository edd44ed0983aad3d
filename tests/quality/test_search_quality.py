"""Evolutionary against random search on a made-up landscape over a real space, same trials, several seeds.

Half of the landscape (in logarithms) follows the analytic model, as real ones do; the other half is hidden from it:
every decision has a best value, every sketch a factor, and some candidates fail.
"""

from __future__ import annotations

import numpy as np
import pytest

from autosched.features.space import Space
from autosched.features.table import FEATURES
from autosched.search import Proposal, make_policy
from autosched.sketch.generate import generate
from autosched.te.canonical import canonical
from autosched.te.workload import Workload, compute, placeholder, reduce_over
from autosched.testing.spaces import TARGET, closed

TRIALS = 48
ROUND = 8
TOTAL = next(i for i, f in enumerate(FEATURES) if f.name == "analytic.total")


def matmul(m: int, n: int, k: int) -> Workload:
    a, b = placeholder("a", (m, k)), placeholder("b", (k, n), constant=True)
    (c,) = compute(
        "c",
        {"i": m, "j": n},
        lambda i, j: reduce_over("sum", {"k": k}, lambda x: a[i, x] * b[x, j]),
    )
    return canonical(Workload("matmul", (a, b), (c,)))


class Landscape:
    """Made-up seconds of every candidate of a space."""

    def __init__(self, space: Space, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.best = {
            name: float(np.log2(rng.choice(space.domains[0].get(name, np.array([8])))))
            for name in space.names
        }
        self.weight = dict(zip(space.names, rng.uniform(0.05, 0.3, len(space.names)), strict=True))
        keys = [str([s.to_json() for s in sketch.derivation]) for sketch in space.sketches]
        self.factor = dict(zip(keys, rng.uniform(1.0, 1.6, len(keys)), strict=True))

    def seconds(self, proposal: Proposal) -> float:
        values = proposal.candidate.values
        away = {n: np.log2(v) - self.best[n] for n, v in values.items()}
        slow = sum(self.weight[n] * d * d for n, d in away.items())
        if slow > 12:
            return float("nan")
        key = str([dict(s) for s in proposal.candidate.derivation])
        estimate = np.exp(0.5 * proposal.features[TOTAL])
        return float(1e-6 * estimate * self.factor[key] * np.sqrt(1 + slow))


def best_found(name: str, space: Space, landscape: Landscape, seed: int) -> float:
    policy = make_policy(name, space, seed=seed)
    asked = [policy.default()]
    seconds: list[float] = []
    for number in range(TRIALS // ROUND + 1):
        found = [landscape.seconds(p) for p in asked]
        policy.observe(closed(asked, found, first=len(seconds), number=number))
        seconds += found
        asked = policy.propose(ROUND)
    return float(np.nanmin(seconds))


@pytest.mark.slow
def test_evolution_beats_random_search() -> None:
    space = Space(generate(matmul(200, 192, 176), TARGET), TARGET)
    ratios = []
    for seed in (1, 2, 3, 4):
        landscape = Landscape(space, seed)
        random, evolved = (
            best_found(n, space, landscape, seed) for n in ("random", "evolutionary")
        )
        ratios.append(random / evolved)
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(f"random / evolutionary: {[round(r, 2) for r in ratios]}, geometric mean {mean:.2f}")
    assert mean > 1.1
