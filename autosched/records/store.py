"""The TuningStore protocol: where every job, trial and winner is kept.

Guarantees every implementation must give, and the contract suite checks:

* `propose` commits a whole round of open trials before any of them is sent anywhere.
* `close` is a compare-and-set on an open trial: the first result wins (True), a later one is dropped (False).
* A candidate key occurs once a task. No candidate is measured twice for one workload, target and toolchain, save
  outcomes `lost` and `unstable`: a trial whose candidate another task has measured comes back from `propose` closed,
  with that result and `reused_from` (for number 0 only if that result is ok: a default is tried again).
* `confirm` stores side-by-side measurements and, in the same transaction, the new best. The winner replaces the
  standing best if that was a contender too, is slower by its stored median, or is not there. An incumbent that was
  never confirmed is not a best.
* A call that returned is durable. Any call may be repeated after an error: repeating one that had been committed
  changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from autosched.records.outcome import Outcome
from autosched.records.record import Candidate, Measurement, Purpose, Timing, Trial

MAX_ATTEMPTS = 3
NEWEST_RECORDS = 5_000
"""Of a history, unless more are asked for: a few times what a model learns from."""

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
    """One task of a job. `workload_text` is the canonical te; `weight` its occurrences in the graph. `reference`, of a
    submitted job, says as JSON what its kernels are checked against (see `entry.submitted`)."""

    name: str
    workload_key: str
    workload_text: str
    weight: int
    reference: str = ""


@dataclass(frozen=True)
class Job:
    """A stored job. `history` are the ids of earlier trials that its search started from, kept for repeating it."""

    id: str
    spec: JobSpec
    state: JobState
    tasks: tuple[tuple[str, TaskSpec], ...]
    history: tuple[str, ...] = ()
    created_at: datetime | None = None
    ended_at: datetime | None = None
    end_reason: str = ""


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


Stamp = tuple[str, str, datetime]
"""Target, toolchain and time of a winner."""

Stamps = tuple[Stamp, ...]
"""Of all winners of a workload, by target and toolchain: another winner has another time."""


@dataclass(frozen=True)
class Relative:
    """A winner of some shape of a family, with the canonical text of its workload."""

    best: BestRecord
    workload_text: str


@dataclass(frozen=True)
class Confirmation:
    """Timings interleaved in one fresh process: `timings` by trial id, trial 0 of the task among them where it is
    valid; contenders may be trials of other tasks of the same workload, target and toolchain, the standing best first
    of all. `winner` is the id of the fastest by the tie rule, `source_digest` that of its text."""

    task_id: str
    timings: Mapping[str, Timing]
    winner: str
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

    def propose(self, task_id: str, round: int, trials: Sequence[Trial]) -> tuple[Trial, ...]:
        """Commit open trials (or closed ones, for `pruned`), all or none; returns them as they stand now, some
        perhaps closed already (see the module). A ValueError names a number or a candidate key that is taken."""
        ...

    def resend(self, task_id: str, *, attempts: int = MAX_ATTEMPTS) -> tuple[Trial, ...]:
        """Raise every open trial of a task to its next attempt, for a holder that died while it had them. The first
        of those that have had `attempts`, trial 0 excepted, is closed as `lost`: a death has one culprit at most.
        Returns those still open."""
        ...

    def next_attempt(
        self, task_id: str, number: int, *, attempts: int = MAX_ATTEMPTS
    ) -> int | None:
        """The attempt that an open trial has from now on, its runner having died under it; None where it has had
        `attempts`, or is closed."""
        ...

    def close(self, task_id: str, number: int, measurement: Measurement) -> bool:
        """Record the result of an open trial; False if it was closed already."""
        ...

    def confirm(self, confirmation: Confirmation) -> BestRecord | None:
        """Store a side-by-side run; the new best if one was written. A run stored already answers the standing best."""
        ...

    def history(
        self, target_isa: str, *, workload_key: str | None = None, limit: int = NEWEST_RECORDS
    ) -> tuple[HistoryRecord, ...]:
        """Measured trials on targets of this instruction set, newest first; pruned and reused ones are left out."""
        ...

    def records(self, trial_ids: Sequence[str]) -> tuple[HistoryRecord, ...]:
        """The finished ones of these trials in the order given: what a stored job's `history` stands for."""
        ...

    def best(
        self, workload_key: str, target_key: str | None = None, toolchain_key: str | None = None
    ) -> tuple[BestRecord, ...]:
        """Confirmed winners of the workload, filtered where a key is given."""
        ...

    def add_measurement(self, row: MeasurementRow) -> None:
        """Store one more run of a finished trial (a replay): changes neither its outcome nor a best."""
        ...

    def calibrate(self, target_key: str, measured: Mapping[str, float]) -> Mapping[str, float]:
        """Keep the larger of each measured number of a target (peak, bandwidth) and what stands; answers all of
        them. Such numbers are never part of a key."""
        ...
