"""What can become of a candidate."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """Every outcome but `pruned` takes one trial of the budget."""

    OK = "ok"
    PRUNED = "pruned"
    COMPILE_ERROR = "compile_error"
    COMPILE_DEADLINE = "compile_deadline"
    RUN_DEADLINE = "run_deadline"
    CRASHED = "crashed"
    WRONG_RESULT = "wrong_result"
    OUT_OF_MEMORY = "out_of_memory"
    UNSTABLE = "unstable"
    LOST = "lost"


REPEATABLE = frozenset({Outcome.UNSTABLE, Outcome.LOST})
"""Outcomes that say nothing about the candidate itself: it may be measured again."""

CONFIRMABLE = frozenset({Outcome.OK, Outcome.UNSTABLE})
"""The kernel was right; a side-by-side run gives it the time that a disturbed one lacks."""
