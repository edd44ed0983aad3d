"""The closed rounds of a task as arrays: what was measured, how fast, and which candidates are spoken for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from autosched.features.columns import Array
from autosched.features.population import Population, row_of
from autosched.features.space import Space
from autosched.nest.digest import concrete_digest
from autosched.records.outcome import REPEATABLE, Outcome
from autosched.records.record import Candidate, Trial


class Catalogue:
    """Candidates of a space by number and row, and back."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._steps = [tuple(step.to_json() for step in s.derivation) for s in space.sketches]
        keys = [Candidate(steps, {}, "").structure_key for steps in self._steps]
        self._sketches = {key: i for i, key in enumerate(keys)}
        self._known: dict[tuple[int, bytes], Candidate] = {}

    def candidate(self, population: Population, row: int) -> Candidate:
        """The candidate of one row, with the key of its concrete nest."""
        number = int(population.sketch[row])
        same = (number, population.values[row].tobytes())
        if same not in self._known:
            self._known[same] = self._candidate(number, population, row)
        return self._known[same]

    def _candidate(self, number: int, population: Population, row: int) -> Candidate:
        sketch = self.space.sketches[number]
        values = self.space.values(population, row)
        key = concrete_digest(sketch.nest, sketch.environment(values))
        return Candidate(self._steps[number], values, key)

    def population(self, candidates: Sequence[Candidate]) -> tuple[Population, list[int]]:
        """Rows of those candidates that the space has, and their positions; foreign ones are left out."""
        rows: list[Array] = []
        sketches: list[int] = []
        places: list[int] = []
        for i, candidate in enumerate(candidates):
            sketch = self._sketches.get(candidate.structure_key)
            if sketch is None or not self._legal(sketch, candidate):
                continue
            rows.append(row_of(self.space.names, candidate.values))
            sketches.append(sketch)
            places.append(i)
        values = np.array(rows, np.int64).reshape(len(rows), len(self.space.names))
        return Population(np.array(sketches, np.int32), values), places

    def _legal(self, sketch: int, candidate: Candidate) -> bool:
        domains = self.space.domains[sketch]
        return set(candidate.values) == set(domains) and all(
            candidate.values[name] in domain for name, domain in domains.items()
        )


@dataclass(frozen=True)
class Results:
    """Measured candidates of some rounds: `seconds` is NaN where there is no valid time; `valid` is False where the
    candidate itself failed (outcomes that say nothing about it are left out)."""

    population: Population
    seconds: Array
    valid: Array

    def best(self) -> int | None:
        """Row of the fastest."""
        if not np.isfinite(self.seconds).any():
            return None
        return int(np.nanargmin(self.seconds))

    def fastest(self, n: int) -> Array:
        """Rows of the `n` fastest, best first."""
        order = np.argsort(np.where(np.isfinite(self.seconds), self.seconds, np.inf), kind="stable")
        return order[: min(n, int(np.isfinite(self.seconds).sum()))]


@dataclass
class Ledger:
    """What a policy was told: closed rounds in order, and the keys that it must not propose again."""

    catalogue: Catalogue
    rounds: list[list[Trial]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)

    def close(self, trials: Sequence[Trial]) -> None:
        """Adds a closed round; its trials are put in number order."""
        self.rounds.append(sorted(trials, key=lambda t: t.number))
        self.keys.update(t.candidate.key for t in trials)

    def results(self, n_rounds: int) -> Results:
        """The results of the first `n_rounds` rounds."""
        told = self._told(n_rounds)
        population, places = self.catalogue.population([t.candidate for t in told])
        seconds = np.array([seconds_of(told[i]) for i in places], np.float64)
        return Results(population, seconds, np.isfinite(seconds))

    def count(self, n_rounds: int) -> int:
        """How many trials of the first `n_rounds` rounds say something."""
        return len(self._told(n_rounds))

    def _told(self, n_rounds: int) -> list[Trial]:
        trials = [t for closed in self.rounds[:n_rounds] for t in closed]
        certain = [t for t in trials if says_something(t)]
        shaken = sum(1 for t in trials if is_shaken(t))
        if shaken <= len(certain):
            return certain
        return [t for t in trials if says_something(t) or is_shaken(t)]


def is_shaken(trial: Trial) -> bool:
    """True for an unstable time: better than none where most are, on a machine that is never quiet."""
    found = trial.measurement
    return found is not None and found.outcome is Outcome.UNSTABLE and found.timing is not None


def says_something(trial: Trial) -> bool:
    """False for open trials and for outcomes that are not the candidate's own."""
    return trial.measurement is not None and trial.measurement.outcome not in REPEATABLE


def seconds_of(trial: Trial) -> float:
    """Median seconds of a valid (or shaken) trial, else NaN."""
    found = trial.measurement
    timed = (Outcome.OK, Outcome.UNSTABLE)
    if found is None or found.outcome not in timed or found.timing is None:
        return float("nan")
    return found.timing.median_seconds
