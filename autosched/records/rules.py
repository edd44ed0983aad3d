"""What may be stored: rules that every store applies before it writes.

| value | rule |
|---|---|
| timing | there if the outcome is ok, maybe if unstable, else absent; finite and positive |
| max_error | a number that is not finite is stored as none |
| error, log | no NUL and no lone surrogate, at most `ERROR_CHARACTERS` and the last `LOG_CHARACTERS` |
| environment | as JSON gives it back, a number that is not finite as none |
| derivation, values | as JSON gives them back: lists, strings, numbers, no NaN |

A broken rule is a bug of the caller (ValueError, TypeError), not of a candidate.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from autosched.records.outcome import REPEATABLE, Outcome
from autosched.records.record import Candidate, Measurement, Timing, Trial, trial_id
from autosched.records.store import BestRecord, Confirmation, MeasurementRow

ERROR_CHARACTERS = 4_000
LOG_CHARACTERS = 16_000

UNMEASURED = REPEATABLE | {Outcome.PRUNED}
"""Outcomes after which the candidate may still be measured, by another task."""


def storable_text(text: str, characters: int) -> str:
    """The last `characters` of a text, with what no database takes replaced: compilers print what they like."""
    valid = text.encode("utf-8", "replace").decode().replace("\0", "\N{SYMBOL FOR NULL}")
    return valid[-characters:]


def storable_measurement(measurement: Measurement) -> Measurement:
    """The measurement as it is stored."""
    outcome, timing = Outcome(measurement.outcome), measurement.timing
    if outcome is Outcome.OK and timing is None:
        raise ValueError("a measurement that is ok has a timing")
    if outcome not in {Outcome.OK, Outcome.UNSTABLE} and timing is not None:
        raise ValueError(f"a measurement that is {outcome} has no timing")
    if timing is not None:
        check_timing(timing)
    error = measurement.max_error
    return replace(
        measurement,
        outcome=outcome,
        max_error=error if error is not None and math.isfinite(error) else None,
        error=storable_text(measurement.error, ERROR_CHARACTERS),
        log=storable_text(measurement.log, LOG_CHARACTERS),
    )


def storable_row(row: MeasurementRow) -> MeasurementRow:
    """The measurement row as it is stored."""
    environment: dict[str, Any] = storable_json(dict(row.environment))
    return replace(row, measurement=storable_measurement(row.measurement), environment=environment)


def storable_json(value: Any) -> Any:
    """The value as JSON gives it back, numbers that are not finite as none."""
    return json.loads(json.dumps(value), parse_constant=lambda _: None)


def check_timing(timing: Timing) -> None:
    """A ValueError names a time that no kernel can have."""
    if not (math.isfinite(timing.median_seconds) and timing.median_seconds > 0):
        raise ValueError(f"median_seconds is {timing.median_seconds}, not a positive finite number")
    if not (math.isfinite(timing.spread_seconds) and timing.spread_seconds >= 0):
        raise ValueError(f"spread_seconds is {timing.spread_seconds}, not a finite number from 0")
    if not 0 <= timing.contended_share <= 1:
        raise ValueError(f"contended_share is {timing.contended_share}, not between 0 and 1")


def storable_candidate(candidate: Candidate) -> Candidate:
    """The candidate as its JSON gives it back; shares nothing mutable with the one given."""
    text = json.dumps([dict(step) for step in candidate.derivation], allow_nan=False)
    values = {str(name): int(value) for name, value in candidate.values.items()}
    return Candidate(tuple(json.loads(text)), values, candidate.key)


def storable_trial(trial: Trial) -> Trial:
    """The trial as it is stored."""
    features = tuple(float(x) for x in trial.features)
    measurement = trial.measurement
    return replace(
        trial,
        candidate=storable_candidate(trial.candidate),
        features=features,
        measurement=None if measurement is None else storable_measurement(measurement),
    )


def check_round(task_id: str, round: int, trials: Iterable[Trial]) -> None:
    """A ValueError names a trial of another task or round, or one of two with the same number or candidate."""
    numbers: set[int] = set()
    keys: set[str] = set()
    for trial in trials:
        if trial.task_id != task_id or trial.round != round:
            raise ValueError(
                f"trial {trial.id} of round {trial.round} is not of {task_id}, {round}"
            )
        if trial.number in numbers:
            raise ValueError(f"trial {trial.id} is proposed twice")
        if trial.candidate.key in keys:
            raise ValueError(f"candidate {trial.candidate.key} is proposed twice for {task_id}")
        numbers.add(trial.number)
        keys.add(trial.candidate.key)


def better_calibration(
    standing: Mapping[str, float], measured: Mapping[str, float]
) -> dict[str, float]:
    """The larger value of each name; a ValueError names one that is no positive finite number."""
    for name, value in measured.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"calibration {name} is {value}, not a positive finite number")
    names = standing.keys() | measured.keys()
    return {n: float(max(standing.get(n, 0.0), measured.get(n, 0.0))) for n in sorted(names)}


def fresh_trials(
    task_id: str, proposed: Sequence[Trial], taken: Mapping[int, str]
) -> tuple[Trial, ...]:
    """The trials that are not there yet, given the candidate key of each number that is; those that are there as
    proposed were committed by a call whose answer was lost. A ValueError names what is taken by another."""
    number_of = {key: number for number, key in taken.items()}
    fresh: list[Trial] = []
    for trial in proposed:
        key = trial.candidate.key
        if taken.get(trial.number) == key:
            continue
        if trial.number in taken:
            raise ValueError(f"trial {trial.id} is candidate {taken[trial.number]} already")
        if key in number_of:
            raise ValueError(f"candidate {key} is trial {number_of[key]} of {task_id} already")
        fresh.append(trial)
    return tuple(fresh)


def culprit_of(open_trials: Sequence[Trial], attempts: int) -> Trial | None:
    """The one that a holder's repeated deaths are laid to: of those that have had all their attempts the first, for
    they are measured in that order. Never a default, without which a task is worth nothing."""
    return next((t for t in open_trials if t.attempt >= attempts and t.number > 0), None)


def lost_measurement(attempts: int) -> Measurement:
    """What closes a trial whose holders all died."""
    return Measurement(Outcome.LOST, error=f"the process that had it died, {attempts} times in all")


def may_reuse(number: int, outcome: Outcome) -> bool:
    """Whether the result another task has got for its candidate closes a trial of this number."""
    if number == 0:
        return outcome is Outcome.OK
    return outcome not in UNMEASURED


def default_timing(confirmation: Confirmation) -> Timing:
    """Trial 0's timing in a side-by-side run; the winner's where trial 0 gave no valid kernel."""
    winner = confirmation.timings[confirmation.winner]
    return confirmation.timings.get(trial_id(confirmation.task_id, 0), winner)


def check_confirmation(confirmation: Confirmation) -> None:
    """A ValueError names what a side-by-side run lacks."""
    if confirmation.winner not in confirmation.timings:
        raise ValueError(
            f"trial {confirmation.winner} is not among the timings of {confirmation.task_id}"
        )
    for timing in confirmation.timings.values():
        check_timing(timing)


def side_by_side_key(confirmation: Confirmation) -> str:
    """Names one interleaved run by its content, so that storing it twice is seen."""
    timings = {i: asdict(t) for i, t in confirmation.timings.items()}
    text = json.dumps([confirmation.task_id, confirmation.winner, timings], sort_keys=True)
    return f"i1-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def replaces(
    confirmation: Confirmation, standing: BestRecord | None, contender_keys: Collection[str]
) -> bool:
    """Whether the winner becomes the best, given the contenders' candidate keys. Times of one run decide; stored ones
    only where the standing best was no contender."""
    if standing is None or standing.candidate.key in contender_keys:
        return True
    won = confirmation.timings[confirmation.winner].median_seconds
    return won < standing.timing.median_seconds
