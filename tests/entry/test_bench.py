"""The comparison with other libraries: forms of every kind, contenders in processes, ratios of rounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from autosched.bench.contender import Contender, Turn
from autosched.bench.form import FORMS
from autosched.bench.rounds import compare, play
from autosched.bench.subject import CaseSubject
from autosched.entry.bench import BenchOptions, CaseResult, bench, expanded
from autosched.measure.runner import default_cpus
from autosched.ops.suite_kinds import KINDS
from autosched.tuning.events import Event, TrialFinished


def test_every_kind_of_the_suite_has_a_form() -> None:
    assert set(FORMS) == set(KINDS)


def test_the_ratio_is_the_median_of_each_rounds_ratio_to_the_best_peer() -> None:
    rounds = [
        {"ours": Turn(10 * k, 0.0), "slow": Turn(40 * k, 0.0), "fast": Turn(12 * k, 0.05)}
        for k in (1.0, 3.0, 1.0, 5.0, 1.0)
    ]
    found = compare(rounds, ("slow", "fast", "absent"))
    assert found.best_peer == "fast"
    assert found.ratio == pytest.approx(1.2)
    assert found.ratio_spread == pytest.approx(0.0)
    assert found.peers == {"slow": 40, "fast": 12, "absent": None}
    assert found.contended_share == pytest.approx(0.05)


def test_without_a_peer_there_is_no_ratio() -> None:
    found = compare([{"ours": Turn(1.0, 0.0)}], ("torch",))
    assert found.ratio is None
    assert found.best_peer is None


def test_contenders_take_turns_and_a_missing_operator_is_no_failure() -> None:
    product = CaseSubject(kind="GMM", batch=1, args={"n": 32, "m": 16, "k": 8})
    softmax = CaseSubject(kind="SFM", batch=1, args={"m": 4, "n": 4})
    able = Contender("numpy", product, 1, default_cpus()[:1])
    unable = Contender("numpy", softmax, 1, default_cpus()[:1])
    try:
        assert able.prepare()
        assert not unable.prepare()
        rounds = play({"ours": able}, rounds=2)
        assert len(rounds) == 2
        assert all(r["ours"].us > 0 for r in rounds)
    finally:
        able.close()
        unable.close()


def test_globs_become_cases_each_once() -> None:
    assert expanded(["suite:GMM/1@*", "suite:GMM/1@1", "onnx:light_squeezenet"]) == [
        "suite:GMM/1@1",
        "suite:GMM/1@16",
        "onnx:light_squeezenet",
    ]


def test_an_interrupt_while_tuning_ends_the_comparison(tmp_path: Path) -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, TrialFinished):
            raise KeyboardInterrupt

    done: list[CaseResult] = []
    options = BenchOptions(peers=("numpy",), trials=1, db=str(tmp_path / "bench.db"))
    with pytest.raises(KeyboardInterrupt):
        bench(["suite:NRM/1@1", "suite:SFM/1@1"], options, listen=interrupt, on_case=done.append)
    assert done == []
