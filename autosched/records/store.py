"""The TuningStore protocol: where every job, trial and winner is kept.

Guarantees every implementation must give, and the contract suite checks:

* `propose` commits a whole round of open trials before any of them is sent anywhere.
* `close` is a compare-and-set on an open trial: the first result wins (True), a later one is dropped (False).
* A candidate key occurs once a task. `known` finds what any task of the same workload, target and toolchain measured.
* `confirm` stores side-by-side measurements and, in the same transaction, the new best if it is faster than what
  stands, or nothing does. An incumbent that was never confirmed is not a best.
* A call that returned is durable. Any call may be repeated after an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from autosched.records.outcome import Outcome
from autosched.records.record import Candidate, Measurement, Purpose, Timing, Trial

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


@dataclass(frozen=True)
class JobSpec:
    """What identifies a command: only an identical one resumes an unfinished job. `source_key` is the digest of what
    was imported (a file's content, not its name)."""

    source: str
    source_key: str
    target_key: str
    threads: int
    toolchain_key: str
    seed: int
    trials: int


@dataclass(frozen=True)
class TaskSpec:
    """One task of a job. `workload_text` is the canonical te; `weight` its occurrences in the graph."""

    name: str
    workload_key: str
    workload_text: str
    weight: int


@dataclass(frozen=True)
class Job:
    """A stored job. `history` are the ids of earlier trials that its search started from, kept for repeating it."""

    id: str
    spec: JobSpec
    state: JobState
    tasks: tuple[tuple[str, TaskSpec], ...]
    history: tuple[str, ...] = ()
    created_at: datetime | None = None


@dataclass(frozen=True)
class HistoryRecord:
    """A finished trial as a search reads it: of any job of the same workload and target."""

    trial_id: str
    workload_key: str
    target_key: str
    toolchain_key: str
    candidate: Candidate
    outcome: Outcome
    median_seconds: float | None
    features: tuple[float, ...]
    features_schema: str


@dataclass(frozen=True)
class BestRecord:
    """The confirmed winner of a workload on a target with a toolchain; `source_digest` of its generated text."""

    trial_id: str
    workload_key: str
    target_key: str
    toolchain_key: str
    space_version: str
    candidate: Candidate
    timing: Timing
    default_seconds: float
    source_digest: str
    measured_at: datetime


@dataclass(frozen=True)
class Confirmation:
    """Timings of trials of one task, interleaved in one fresh process: `timings` by trial number, 0 among them.
    `winner` is the number of the fastest by the tie rule; it becomes the best."""

    task_id: str
    timings: Mapping[int, Timing]
    winner: int
    source_digest: str
    space_version: str


@dataclass(frozen=True)
class MeasurementRow:
    """One stored run of a trial."""

    trial_id: str
    purpose: Purpose
    measurement: Measurement
    environment: Mapping[str, Any] = field(default_factory=dict)


class TuningStore(Protocol):
    """See the module's docstring for the guarantees. Raises `StoreError` (retry) when the database cannot answer."""

    def open_job(
        self,
        spec: JobSpec,
        tasks: Sequence[TaskSpec],
        target: Mapping[str, Any],
        toolchain: Mapping[str, Any],
        history: Sequence[str],
    ) -> Job:
        """The unfinished job of exactly this spec, else a new one in state running."""
        ...

    def end_job(self, job_id: str, state: JobState, end_reason: str) -> None: ...

    def trials(self, task_id: str) -> tuple[Trial, ...]:
        """Every trial of the task in number order, open ones included."""
        ...

    def propose(self, task_id: str, round: int, trials: Sequence[Trial]) -> None:
        """Commit open trials (or closed ones, for `pruned`), all or none."""
        ...

    def close(self, task_id: str, number: int, measurement: Measurement) -> bool:
        """Record the result of an open trial; False if it was closed already."""
        ...

    def confirm(self, confirmation: Confirmation) -> BestRecord | None:
        """Store a side-by-side run; the new best if one was written."""
        ...

    def history(
        self, target_isa: str, *, workload_key: str | None = None, limit: int = 20_000
    ) -> tuple[HistoryRecord, ...]:
        """Finished trials on targets of this instruction set, newest first."""
        ...

    def best(
        self, workload_key: str, target_key: str | None = None, toolchain_key: str | None = None
    ) -> tuple[BestRecord, ...]:
        """Confirmed winners of the workload, filtered where a key is given."""
        ...
