"""Parts of the cluster that need none: what errors mean, how long to pause, what a host is told and says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from autosched_workers.cluster.fleet import described
from autosched_workers.cluster.losses import Meaning, is_gone, meaning_of, words_of
from autosched_workers.cluster.pauses import Pauses
from autosched_workers.cluster.workplace import VARIABLE, Workplace, workplace_of
from autosched_workers.simulation.lab import SimulatedLab
from ray import exceptions

from autosched.db.store import open_store
from autosched.errors import InvalidInput


def _raised(cause: Exception) -> Exception:
    """What Ray raises where a call of an actor raised `cause`."""
    trace = f"Traceback (most recent call last):\n{type(cause).__name__}: {cause}"
    raised: Exception = exceptions.RayTaskError("measure", trace, cause).as_instanceof_cause()
    return raised


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (exceptions.ActorUnavailableError("gone", None), "lost"),
        (exceptions.WorkerCrashedError(), "lost"),
        (exceptions.GetTimeoutError(), "lost"),
        (exceptions.RuntimeEnvSetupError("none"), "bug"),
        (ValueError("ours"), "bug"),
        (_raised(ValueError("ours")), "bug"),
        (_raised(OSError(28, "No space left on device")), "lost"),
        (_raised(MemoryError()), "lost"),
        (_raised(exceptions.OutOfDiskError("the store is full")), "lost"),
    ],
)
def test_an_error_is_a_lost_attempt_or_ours(error: Exception, meaning: Meaning) -> None:
    assert meaning_of(error) == meaning


def test_a_host_that_answers_by_an_error_is_not_gone() -> None:
    """It is listed with that, and not asked again and again."""
    assert is_gone(exceptions.ActorUnavailableError("gone", None))
    assert not is_gone(_raised(OSError(28, "No space left on device")))
    assert not is_gone(ValueError("ours"))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError(), "ValueError()"),
        (ValueError("at the end\nours"), "ours"),
        (exceptions.GetTimeoutError(), "GetTimeoutError: GetTimeoutError()"),
        (exceptions.GetTimeoutError("too late\nmore"), "GetTimeoutError: too late"),
        (_raised(ValueError("ours")), "ValueError: ours"),
        (_raised(OSError("full")), "OSError: full"),
    ],
)
def test_an_error_is_said_in_one_line(error: Exception, words: str) -> None:
    assert words_of(error) == words


def test_pauses_grow_and_begin_anew_after_a_long_life() -> None:
    pauses = Pauses()
    assert [pauses.after(1.0) for _ in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert [pauses.after(60.0), pauses.after(1.0)] == [0.5, 1.0]


@pytest.mark.parametrize("problem", ["", "space: need 2, have 1"])
def test_a_host_of_other_versions_is_listed_and_serves_nothing(problem: str) -> None:
    offer = SimulatedLab(0.1).offer()
    target, toolchain = offer.fields()
    message = {
        "worker": "h-1",
        "host": "h",
        "target": target,
        "toolchain": toolchain,
        "devices": ["h/d"],
        "versions": {"space": "1"},
        "driver": "550.54",
        "problem": problem,
    }
    worker, setups = described(json.loads(json.dumps(message)))
    assert (worker.id, worker.host, worker.target_key) == ("h-1", "h", offer.target.key)
    assert (worker.state, worker.note) == ("quarantined" if problem else "active", problem)
    assert worker.versions == {"space": "1", "driver": "550.54"}
    assert setups == (frozenset() if problem else offer.setups())


def test_a_host_that_describes_itself_in_other_words_is_listed_as_it_says(tmp_path: Path) -> None:
    message = {
        "worker": "h-1",
        "host": "h",
        "target": {"kind": "cpu", "isa": "x86-64", "sockets": 2},
        "toolchain": {"compiler": "gcc"},
        "devices": ["h/d"],
        "versions": {"space": "9"},
        "problem": "space: need 2, have 9",
    }
    worker, setups = described(message)
    assert (worker.state, worker.note) == ("quarantined", "space: need 2, have 9")
    assert worker.target == message["target"]
    assert setups == frozenset()
    with open_store(f"sqlite:///{tmp_path}/a.db") as store:
        store.register(worker)
        assert [w.target for w in store.workers()] == [message["target"]]
    with pytest.raises(InvalidInput, match="sockets"):
        described({**message, "problem": ""})


@pytest.mark.parametrize("seconds", [None, 0.1])
def test_a_host_that_only_builds_offers_its_compiler_and_no_device(seconds: float | None) -> None:
    told = Workplace("/folder", simulated_seconds=seconds, is_build_only=True)
    environment = told.environment()
    assert environment.keys() == {VARIABLE}
    assert workplace_of(environment) == told
    offer = told.lab().offer()
    assert offer.devices == ()
    assert offer.toolchain.version
    assert Workplace("/folder", simulated_seconds=seconds).lab().offer().devices
