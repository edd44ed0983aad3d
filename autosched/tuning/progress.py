"""What the trials of a task say: budget spent, fastest so far, who may contend. Pure functions over stored trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from autosched.records.outcome import Outcome
from autosched.records.record import Trial


def median_seconds(trial: Trial) -> float | None:
    """The time of a valid trial; None for an open or failed one."""
    measurement = trial.measurement
    if measurement is None or measurement.outcome is not Outcome.OK or measurement.timing is None:
        return None
    return measurement.timing.median_seconds


def spent(trials: Iterable[Trial]) -> int:
    """Budget taken: every trial but the default and the pruned ones, open trials included."""
    return sum(t.number > 0 and not is_pruned(t) for t in trials)


def is_pruned(trial: Trial) -> bool:
    return trial.measurement is not None and trial.measurement.outcome is Outcome.PRUNED


def outcomes(trials: Iterable[Trial]) -> dict[Outcome, int]:
    """Closed trials by outcome, the default beyond the budget left out."""
    counted = Counter(
        t.measurement.outcome for t in trials if t.number > 0 and t.measurement is not None
    )
    return {o: counted[o] for o in Outcome if counted[o]}


def rounds(trials: Sequence[Trial]) -> list[tuple[Trial, ...]]:
    """Trials round by round, in number order."""
    ordered = sorted(trials, key=lambda t: (t.round, t.number))
    return [tuple(group) for _, group in groupby(ordered, key=lambda t: t.round)]


def fastest(trials: Iterable[Trial]) -> Trial | None:
    """The incumbent: the fastest valid trial, the first of equals."""
    timed = [(s, t.number, t) for t in trials if (s := median_seconds(t)) is not None]
    return min(timed)[2] if timed else None


def best_after_rounds(closed_rounds: Sequence[Sequence[Trial]]) -> tuple[float, ...]:
    """The fastest time after each round, from the first round on that left a valid one."""
    found: list[float] = []
    for trials in closed_rounds:
        times = [s for t in trials if (s := median_seconds(t)) is not None]
        if found or times:
            found.append(min([*found[-1:], *times]))
    return tuple(found)


def contenders(trials: Iterable[Trial], n: int) -> list[Trial]:
    """The `n` fastest valid trials that were measured to the end, fastest first, beside trial 0."""
    timed = [
        (s, t.number, t)
        for t in trials
        if (s := median_seconds(t)) is not None
        and t.measurement is not None
        and not t.measurement.early_stopped
    ]
    return [t for _, number, t in sorted(timed, key=lambda x: x[:2]) if number > 0][:n]
