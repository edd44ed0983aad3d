"""One task of a running job: what is fixed, and what its closed rounds have brought."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from autosched.measure.protocol import Artefact, Check
from autosched.records.record import Timing, Trial
from autosched.records.store import BestRecord, TaskSpec
from autosched.search.proposal import Policy
from autosched.te.workload import Workload
from autosched.tuning import progress
from autosched.tuning.budget import Progress
from autosched.tuning.check import Reference, make_check
from autosched.tuning.codebook import Codebook


@dataclass(frozen=True, eq=False)
class Subject:
    """A workload to tune: `weight` its occurrences in the graph, `reference` the operators' meaning of its subgraph,
    `operations` those of one call."""

    name: str
    workload: Workload
    weight: int = 1
    reference: Reference | None = None
    operations: float = 0.0

    def to_spec(self, text: str) -> TaskSpec:
        return TaskSpec(self.name, self.workload.key, text, self.weight)


@dataclass(frozen=True)
class Confirmed:
    """The last side-by-side run of a task: timings of trial 0 and of the winner, and the winner's trial id."""

    winner: str
    default: Timing | None
    best: Timing


KEPT_ARTEFACTS = 4
MOST_ARTEFACTS = 16
"""At so many, those that may not contend any more are dropped."""


@dataclass(eq=False)
class Task:
    """`trials` mirrors the store; `confirmed_at` is the budget spent at the last side-by-side run; `standing` is the
    winner that an earlier run of this job left; `artefacts` keeps the builds of those that may contend in the next
    side-by-side run, and of a few others, by candidate key. `best_seconds`: the fastest of its valid trials."""

    id: str
    subject: Subject
    codebook: Codebook
    policy: Policy
    random: np.random.SeedSequence
    trials: dict[int, Trial] = field(default_factory=dict)
    confirmed: Confirmed | None = None
    confirmed_at: int = -1
    standing: BestRecord | None = None
    exhausted: bool = False
    artefacts: dict[str, Artefact] = field(default_factory=dict, repr=False)
    best_seconds: float | None = None

    @cached_property
    def check(self) -> Check:
        """Drawn once a job, from a stream of its own."""
        rng = np.random.default_rng(self.random)
        return make_check(self.subject.workload, rng, self.subject.reference)

    @property
    def default(self) -> Trial | None:
        return self.trials.get(0)

    @property
    def spent(self) -> int:
        return progress.spent(self.trials.values())

    @property
    def open_trials(self) -> list[Trial]:
        return [t for _, t in sorted(self.trials.items()) if t.is_open]

    def record(self, trial: Trial) -> None:
        self.trials[trial.number] = trial
        seconds = progress.median_seconds(trial)
        if seconds is not None and (self.best_seconds is None or seconds < self.best_seconds):
            self.best_seconds = seconds

    def keep_artefact(self, trial: Trial, artefact: Artefact) -> None:
        """Keeps the build of a trial as long as it may contend."""
        self.artefacts[trial.candidate.key] = artefact
        if len(self.artefacts) <= MOST_ARTEFACTS:
            return
        likely = progress.contenders(self.trials.values(), KEPT_ARTEFACTS)
        keys = {t.candidate.key for t in (*likely, self.trials.get(0)) if t is not None}
        self.artefacts = {k: a for k, a in self.artefacts.items() if k in keys}

    def progress(self, *, relative: bool) -> Progress:
        """What the division of the budget reads; `relative` counts times in units of the first valid one."""
        rounds = progress.rounds([t for t in self.trials.values() if not t.is_open])
        best = progress.best_after_rounds(rounds)
        unit = best[0] if relative and best else 1.0
        return Progress(
            weight=self.subject.weight,
            trials=self.spent,
            operations=self.subject.operations / unit,
            best_seconds=tuple(b / unit for b in best),
            family=self.subject.name,
            exhausted=self.exhausted,
        )
