"""What the trials of a task say: budget spent, fastest so far, who may contend. Pure functions over stored trials."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from autosched.records.outcome import Outcome
from autosched.records.record import Timing, Trial
from autosched.search.ledger import is_shaken


def median_seconds(trial: Trial) -> float | None:
    """The time of a valid trial; None for an open or failed one."""
    measurement = trial.measurement
    if measurement is None or measurement.outcome is not Outcome.OK or measurement.timing is None:
        return None
    return measurement.timing.median_seconds


def spent(trials: Iterable[Trial]) -> int:
    """Budget taken: every trial but the default and the pruned ones, open trials included."""
    return sum(t.number > 0 and not is_pruned(t) for t in trials)


def finished(trials: Iterable[Trial]) -> int:
    """Those of the budget that are closed."""
    return sum(t.number > 0 and not t.is_open and not is_pruned(t) for t in trials)


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


def best_after_rounds(closed_rounds: Sequence[Sequence[Trial]]) -> tuple[float, ...]:
    """The fastest time after each round, from the first round on that left a right kernel."""
    found: list[float] = []
    for trials in closed_rounds:
        times = [_order(t)[0] for t in trials if may_contend(t)]
        if found or times:
            found.append(min([*found[-1:], *times]))
    return tuple(found)


def contenders(trials: Iterable[Trial], n: int) -> list[Trial]:
    """The `n` fastest trials that were measured to the end, fastest first, beside trial 0: valid ones, and where there
    is none on a machine that is never quiet, those that were right but disturbed while they were timed."""
    rivals = [t for t in trials if t.number > 0 and not _stopped_early(t)]
    valid = [t for t in rivals if median_seconds(t) is not None]
    return sorted(valid or filter(was_disturbed, rivals), key=_order)[:n]


DISTURBED_SHARE = 0.5
"""From this share of disturbed samples on, an unstable time is the machine's fault; below, it is not to be believed."""


def was_disturbed(trial: Trial) -> bool:
    """Whether a right kernel has no certain time because of other load."""
    timing = _timing(trial)
    return is_shaken(trial) and timing is not None and timing.contended_share >= DISTURBED_SHARE


def may_contend(trial: Trial) -> bool:
    """Whether a trial can be timed side by side: its kernel was right, however well it was timed."""
    return median_seconds(trial) is not None or was_disturbed(trial)


def _stopped_early(trial: Trial) -> bool:
    return trial.measurement is not None and trial.measurement.early_stopped


def _timing(trial: Trial) -> Timing | None:
    return None if trial.measurement is None else trial.measurement.timing


def _order(trial: Trial) -> tuple[float, int]:
    timing = _timing(trial)
    return (timing.median_seconds if timing is not None else math.inf), trial.number
