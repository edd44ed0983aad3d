"""What is counted of a task's trials."""

from __future__ import annotations

from dataclasses import replace

from autosched.records.outcome import Outcome
from autosched.testing.records import failed, ok, trial
from autosched.tuning.progress import finished, spent


def test_trials_left_open_are_spent_and_not_finished() -> None:
    ends = (ok(), ok(), failed(Outcome.CRASHED), failed(Outcome.PRUNED), None, None)
    trials = [replace(trial("t", number), measurement=end) for number, end in enumerate(ends)]
    assert (spent(trials), finished(trials)) == (4, 2)
