"""A store that is asked again while the database cannot answer, and no longer than that makes sense."""

from __future__ import annotations

from typing import cast

import pytest
from autosched_workers.patient import FIRST_SECONDS, MOST_SECONDS, Patient, patiently

from autosched.errors import StoreError
from autosched.records.memory import MemoryStore
from autosched.testing.records import open_task, trial
from autosched.tuning.turns import Stopped


class Restarting:
    """Fails `n` times, then answers."""

    def __init__(self, n: int) -> None:
        self.left = n

    def __call__(self) -> str:
        self.left -= 1
        if self.left >= 0:
            raise StoreError("restarting")
        return "answer"


def test_it_asks_until_there_is_an_answer_at_growing_distances() -> None:
    pauses: list[float] = []
    assert patiently(Restarting(8), lambda: None, pauses.append) == "answer"
    assert pauses[0] == FIRST_SECONDS
    assert pauses == sorted(pauses)
    assert pauses[-1] == MOST_SECONDS


def test_it_gives_up_when_the_job_is_to_stop() -> None:
    left = [2]

    def checkpoint() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Stopped("no heartbeat for half a lease")

    with pytest.raises(Stopped):
        patiently(Restarting(100), checkpoint, lambda seconds: None)


def test_other_errors_are_not_asked_again() -> None:
    store = MemoryStore()
    patient = cast(MemoryStore, Patient(store, lambda: pytest.fail("asked again")))
    task_id = open_task(patient)
    patient.propose(task_id, 0, [trial(task_id, 0)])
    with pytest.raises(ValueError, match="already"):
        patient.propose(task_id, 0, [trial(task_id, 0, name="other")])
