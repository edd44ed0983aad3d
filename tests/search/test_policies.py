"""Every policy: same seed and same results give the same proposals, nothing twice, small spaces to the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autosched.errors import InvalidInput
from autosched.features.space import Space
from autosched.records.outcome import Outcome
from autosched.records.record import Trial
from autosched.records.store import HistoryRecord
from autosched.search import POLICIES, Proposal, make_policy
from autosched.search.evolution import EvolutionaryPolicy
from autosched.search.learning import training_round
from autosched.search.ledger import Ledger
from autosched.search.random_policy import RandomPolicy, Stream
from autosched.testing.spaces import TARGET, closed, small_space

REPLAY = Path(__file__).with_name("replay.py")


def made_up_seconds(proposal: Proposal) -> float:
    values = proposal.candidate.values
    if values["i.r"] == 3:
        return float("nan")
    return 1e-3 * (1 + abs(values["i.r"] - 6) + 0.2 * abs(values.get("j.r", 32) - 8))


def run(
    name: str, rounds: int, n: int, *, seed: int = 7, space: Space | None = None
) -> list[list[str]]:
    policy = make_policy(name, space or small_space(), seed=seed)
    asked = [policy.default()]
    keys = []
    first = 0
    for number in range(rounds + 1):
        keys.append([p.candidate.key for p in asked])
        policy.observe(
            closed(asked, [made_up_seconds(p) for p in asked], first=first, number=number)
        )
        first += len(asked)
        asked = policy.propose(n)
    return keys


@pytest.mark.parametrize("name", POLICIES)
def test_nothing_twice_and_the_small_space_to_its_end(name: str) -> None:
    rounds = run(name, 12, 8)
    keys = [k for r in rounds for k in r]
    assert len(keys) == len(set(keys))
    assert rounds[0]
    assert rounds[-1] == []
    everything = run(name, 2, 500)
    assert len({k for r in everything for k in r}) == len(keys)


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_built_anew_and_told_the_same_goes_on_the_same(name: str) -> None:
    space = small_space()
    whole = make_policy(name, space, seed=3)
    told = []
    asked = [whole.default()]
    for number in range(3):
        told.append(
            closed(asked, [made_up_seconds(p) for p in asked], first=8 * number, number=number)
        )
        whole.observe(told[-1])
        asked = whole.propose(6)
    anew = make_policy(name, small_space(), seed=3)
    for trials in told:
        anew.observe(trials)
    assert [p.candidate.key for p in anew.propose(6)] == [p.candidate.key for p in asked]
    assert [p.features for p in asked] == [p.features for p in asked]


@pytest.mark.parametrize("name", POLICIES)
def test_seeds_differ_and_proposals_carry_features(name: str) -> None:
    assert run(name, 2, 6, seed=1) != run(name, 2, 6, seed=2)
    default = make_policy(name, small_space(), seed=1).default()
    assert default.features_schema
    assert np.isfinite(default.features).all()


def test_the_default_is_a_seed_whatever_the_seed_of_the_search() -> None:
    keys = {
        make_policy(n, small_space(), seed=s).default().candidate.key
        for n in POLICIES
        for s in (1, 2)
    }
    assert len(keys) == 1


@pytest.mark.parametrize("name", POLICIES)
def test_a_space_without_a_legal_candidate_is_named(name: str) -> None:
    space = small_space(block=0)
    with pytest.raises(InvalidInput, match="no candidate"):
        make_policy(name, Space(space.sketches[:1], TARGET), seed=1).default()
    with pytest.raises(InvalidInput, match="no sketch"):
        make_policy(name, Space([], TARGET), seed=1)
    with pytest.raises(InvalidInput, match="unknown"):
        make_policy("clever", space, seed=1)


def test_lag_keeps_late_results_out() -> None:
    """With lag 2, what the last round brought does not change the next proposals."""
    found = []
    for factor in (1.0, 5.0):
        policy = EvolutionaryPolicy(small_space(), Stream(1), lag=2)
        asked = [policy.default()]
        for number in range(3):
            scale = factor if number == 2 else 1.0
            seconds = [scale * made_up_seconds(p) for p in asked]
            policy.observe(closed(asked, seconds, first=10 * number, number=number))
            asked = policy.propose(4)
        found.append([p.candidate.key for p in asked])
    assert found[0] == found[1]


def test_history_of_the_workload_is_asked_first() -> None:
    space = small_space()
    proposals = make_policy("random", space, seed=5).propose(12)
    ranked = sorted(proposals, key=lambda p: np.nan_to_num(made_up_seconds(p), nan=1.0))
    records = [
        HistoryRecord(
            f"t{i}",
            space.sketches[0].workload.key,
            TARGET.key,
            "c",
            p.candidate,
            outcome,
            seconds,
            p.features,
            p.features_schema,
        )
        for i, (p, outcome, seconds) in enumerate(with_outcomes(proposals))
    ]
    policy = make_policy("evolutionary", space, seed=1, history=records)
    policy.observe(closed([policy.default()], [1e-2], first=0, number=0))
    asked = policy.propose(8)
    assert ranked[0].candidate.key in [p.candidate.key for p in asked[:2]]


def with_outcomes(
    proposals: list[Proposal],
) -> Iterator[tuple[Proposal, Outcome, float | None]]:
    for p in proposals:
        seconds = made_up_seconds(p)
        ok = bool(np.isfinite(seconds))
        yield p, Outcome.OK if ok else Outcome.CRASHED, seconds if ok else None


def test_other_processes_propose_the_same() -> None:
    """Hash seeds, threads of the model, and a kill between rounds change nothing."""
    answers = []
    for hash_seed, threads, stop in (("0", "1", "9"), ("77", "2", "9"), ("5", "1", "2")):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "OMP_WAIT_POLICY": "passive",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        found = subprocess.run(
            [sys.executable, str(REPLAY), threads, stop],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(json.loads(found.stdout))
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]) == 5


def test_training_follows_a_growth_schedule() -> None:
    assert training_round([1, 5], 0) is None
    assert training_round([1, 9], 0) == 2
    assert training_round([1, 9, 10], 0) == 2
    assert training_round([1, 9, 13], 0) == 3
    assert training_round([], 400) == 0
    assert training_round([50], 400) == 0
    assert training_round([50, 101], 400) == 2


def test_shaken_times_count_only_where_most_are() -> None:
    policy = RandomPolicy(small_space(), Stream(1))
    asked = policy.propose(6)
    trials = closed(asked, [1e-3 * (i + 1) for i in range(6)], first=1, number=1)

    def shaken(trial: Trial) -> Trial:
        assert trial.measurement is not None
        return replace(trial, measurement=replace(trial.measurement, outcome=Outcome.UNSTABLE))

    for n_shaken, expected in ((0, 6), (2, 4), (4, 6), (6, 6)):
        ledger = Ledger(policy.catalogue)
        ledger.close([shaken(t) if i < n_shaken else t for i, t in enumerate(trials)])
        assert len(ledger.results(1).seconds) == ledger.count(1) == expected


def test_a_model_that_cannot_be_fitted_is_said_and_done_without() -> None:
    policy = make_policy("evolutionary", small_space(), seed=1)
    asked = [policy.default()]
    for number in range(3):
        policy.observe(closed(asked, [1e-3] * len(asked), first=8 * number, number=number))
        asked = policy.propose(8)
        assert asked
    assert any("could not be fitted" in note for note in policy.notes)
