"""A TuningStore in memory: for tests, replayed searches and tuning that nobody wants to keep.

The same guarantees as every store but durability. All state is a few dictionaries under one lock, and every value that
comes in is put into its stored form first, so that nothing depends on which store is used.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from autosched.records.family import family_key as key_of_family
from autosched.records.family import log2_size as size_of
from autosched.records.identity import new_job_id
from autosched.records.outcome import CONFIRMABLE, Outcome
from autosched.records.record import Measurement, Setting, Trial, split_trial_id, task_id_of
from autosched.records.rules import (
    better_calibration,
    check_confirmation,
    check_round,
    culprit_of,
    default_timing,
    fresh_trials,
    lost_measurement,
    may_reuse,
    replaces,
    side_by_side_key,
    storable_json,
    storable_measurement,
    storable_row,
    storable_trial,
)
from autosched.records.store import (
    MAX_ATTEMPTS,
    NEWEST_RECORDS,
    BestRecord,
    Confirmation,
    HistoryRecord,
    Job,
    JobSpec,
    JobState,
    MeasurementRow,
    Relative,
    TaskSpec,
)


@dataclass
class _Task:
    setting: Setting
    trials: dict[int, Trial] = field(default_factory=dict)


class MemoryStore:
    """TuningStore and Catalog over dictionaries; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._jobs: dict[str, Job] = {}
        self._tasks: dict[str, _Task] = {}
        self._targets: dict[str, Mapping[str, Any]] = {}
        self._toolchains: dict[str, Mapping[str, Any]] = {}
        self._workloads: dict[str, str] = {}
        self._calibrations: dict[str, dict[str, float]] = {}
        self._order: list[tuple[str, int]] = []
        self._runs: dict[str, list[MeasurementRow]] = {}
        self._measured: dict[tuple[Setting, str], list[str]] = {}
        self._side_by_side: set[str] = set()
        self._best: dict[Setting, BestRecord] = {}

    def open_job(
        self,
        spec: JobSpec,
        tasks: Sequence[TaskSpec],
        target: Mapping[str, Any],
        toolchain: Mapping[str, Any],
        history: Sequence[str],
    ) -> Job:
        with self._lock:
            for job in self._jobs.values():
                if job.spec == spec and job.ended_at is None:
                    return job
            job_id = new_job_id()
            named = tuple((task_id_of(job_id, i), task) for i, task in enumerate(tasks))
            job = Job(job_id, spec, "running", named, tuple(history), datetime.now(UTC))
            self._jobs[job_id] = job
            self._targets.setdefault(spec.target_key, storable_json(dict(target)))
            self._toolchains.setdefault(spec.toolchain_key, storable_json(dict(toolchain)))
            for task_id, task in named:
                setting = (task.workload_key, spec.target_key, spec.toolchain_key)
                self._tasks[task_id] = _Task(setting)
                self._workloads.setdefault(task.workload_key, task.workload_text)
            return job

    def end_job(self, job_id: str, state: JobState, end_reason: str) -> None:
        with self._lock:
            job = self._jobs[job_id]
            if job.ended_at is None:
                now = datetime.now(UTC)
                self._jobs[job_id] = replace(job, state=state, end_reason=end_reason, ended_at=now)

    def trials(self, task_id: str) -> tuple[Trial, ...]:
        with self._lock:
            found = self._tasks[task_id].trials
            return tuple(found[number] for number in sorted(found))

    def propose(self, task_id: str, round: int, trials: Sequence[Trial]) -> tuple[Trial, ...]:
        check_round(task_id, round, trials)
        stored = [storable_trial(t) for t in trials]
        with self._lock:
            task = self._tasks[task_id]
            taken = {number: t.candidate.key for number, t in task.trials.items()}
            for trial in fresh_trials(task_id, stored, taken):
                task.trials[trial.number] = self._reused(task, trial)
                self._order.append((task_id, trial.number))
                if trial.measurement is not None:
                    self._add_search_run(task, trial, trial.measurement)
            return tuple(task.trials[t.number] for t in stored)

    def resend(self, task_id: str, *, attempts: int = MAX_ATTEMPTS) -> tuple[Trial, ...]:
        with self._lock:
            task = self._tasks[task_id]
            is_open = [t for t in self.trials(task_id) if t.is_open]
            culprit = culprit_of(is_open, attempts)
            for trial in is_open:
                task.trials[trial.number] = replace(trial, attempt=trial.attempt + 1)
            if culprit is not None:
                self.close(task_id, culprit.number, lost_measurement(culprit.attempt))
            return tuple(t for t in self.trials(task_id) if t.is_open)

    def next_attempt(
        self, task_id: str, number: int, *, attempts: int = MAX_ATTEMPTS
    ) -> int | None:
        with self._lock:
            task = self._tasks[task_id]
            trial = task.trials[number]
            if not trial.is_open or trial.attempt >= attempts:
                return None
            task.trials[number] = replace(trial, attempt=trial.attempt + 1)
            return trial.attempt + 1

    def close(self, task_id: str, number: int, measurement: Measurement) -> bool:
        measurement = storable_measurement(measurement)
        with self._lock:
            task = self._tasks[task_id]
            trial = task.trials[number]
            if not trial.is_open:
                return False
            closed = self._reused(task, trial)
            if closed.is_open:
                closed = replace(trial, measurement=measurement)
                self._add_search_run(task, trial, measurement)
            task.trials[number] = closed
            return True

    def add_measurement(self, row: MeasurementRow) -> None:
        row = storable_row(row)
        with self._lock:
            found = self.trial(row.trial_id)
            if found is None or found.is_open:
                raise ValueError(f"trial {row.trial_id} is not a finished trial")
            self._runs.setdefault(row.trial_id, []).append(row)

    def confirm(self, confirmation: Confirmation) -> BestRecord | None:
        check_confirmation(confirmation)
        with self._lock:
            setting = self._tasks[confirmation.task_id].setting
            if side_by_side_key(confirmation) in self._side_by_side:
                return self._best.get(setting)
            contenders = {i: self._contender(i, setting) for i in confirmation.timings}
            self._side_by_side.add(side_by_side_key(confirmation))
            for i, timing in confirmation.timings.items():
                digest = confirmation.source_digest if i == confirmation.winner else ""
                measured = Measurement(Outcome.OK, timing, source_digest=digest)
                self._runs.setdefault(i, []).append(MeasurementRow(i, "confirm", measured))
            keys = {trial.candidate.key for trial in contenders.values()}
            if not replaces(confirmation, self._best.get(setting), keys):
                return None
            best = BestRecord(
                confirmation.winner,
                *setting,
                confirmation.space_version,
                contenders[confirmation.winner].candidate,
                confirmation.timings[confirmation.winner],
                default_timing(confirmation).median_seconds,
                confirmation.source_digest,
                datetime.now(UTC),
            )
            self._best[setting] = best
            return best

    def history(
        self, target_isa: str, *, workload_key: str | None = None, limit: int = NEWEST_RECORDS
    ) -> tuple[HistoryRecord, ...]:
        with self._lock:
            found: list[HistoryRecord] = []
            for task_id, number in reversed(self._order):
                if len(found) >= limit:
                    break
                task = self._tasks[task_id]
                trial = task.trials[number]
                wanted = workload_key in {None, task.setting[0]}
                if wanted and self._isa(task.setting[1]) == target_isa and _is_measured(trial):
                    found.append(_history_record(task.setting, trial))
            return tuple(found)

    def records(self, trial_ids: Sequence[str]) -> tuple[HistoryRecord, ...]:
        with self._lock:
            return tuple(
                _history_record(self._tasks[t.task_id].setting, t)
                for t in map(self.trial, trial_ids)
                if t is not None and not t.is_open
            )

    def best(
        self, workload_key: str, target_key: str | None = None, toolchain_key: str | None = None
    ) -> tuple[BestRecord, ...]:
        with self._lock:
            return tuple(
                record
                for (workload, target, toolchain), record in sorted(self._best.items())
                if workload == workload_key
                and target_key in {None, target}
                and toolchain_key in {None, toolchain}
            )

    def family_best(
        self, family_key: str, *, log2_size: float = 0.0, limit: int = 100
    ) -> tuple[Relative, ...]:
        with self._lock:
            found = [
                Relative(best, self._workloads[workload])
                for (workload, _, _), best in sorted(self._best.items())
                if key_of_family(self._workloads[workload]) == family_key
            ]
            found.sort(key=lambda r: abs(size_of(r.workload_text) - log2_size))
            return tuple(found[:limit])

    def job(self, job_id: str) -> Job | None:
        with self._lock:
            return self._jobs.get(job_id)

    def jobs(self, *, limit: int = 50) -> tuple[Job, ...]:
        with self._lock:
            newest = list(self._jobs.values())[::-1][:limit]
            return tuple(replace(job, history=()) for job in newest)

    def trial(self, trial_id: str) -> Trial | None:
        task_id, number = split_trial_id(trial_id) or ("", -1)
        with self._lock:
            task = self._tasks.get(task_id)
            return None if task is None else task.trials.get(number)

    def measurements(self, trial_id: str) -> tuple[MeasurementRow, ...]:
        with self._lock:
            return tuple(self._runs.get(trial_id, ()))

    def target(self, target_key: str) -> Mapping[str, Any] | None:
        with self._lock:
            return self._targets.get(target_key)

    def toolchain(self, toolchain_key: str) -> Mapping[str, Any] | None:
        with self._lock:
            return self._toolchains.get(toolchain_key)

    def calibrate(self, target_key: str, measured: Mapping[str, float]) -> Mapping[str, float]:
        with self._lock:
            better = better_calibration(self.calibration(target_key), measured)
            self._calibrations[target_key] = better
            return dict(better)

    def calibration(self, target_key: str) -> Mapping[str, float]:
        with self._lock:
            return dict(self._calibrations.get(target_key, {}))

    def workload_text(self, workload_key: str) -> str | None:
        with self._lock:
            return self._workloads.get(workload_key)

    def _isa(self, target_key: str) -> str:
        return str(self._targets[target_key].get("isa", ""))

    def _add_search_run(self, task: _Task, trial: Trial, measurement: Measurement) -> None:
        self._runs[trial.id] = [MeasurementRow(trial.id, "search", measurement)]
        self._measured.setdefault((task.setting, trial.candidate.key), []).append(trial.id)

    def _reused(self, task: _Task, trial: Trial) -> Trial:
        """The trial closed with what another task measured for its candidate, or as it is."""
        if not trial.is_open:
            return trial
        for other_id in self._measured.get((task.setting, trial.candidate.key), ()):
            other = self.trial(other_id)
            known = other.measurement if other else None
            if known is not None and may_reuse(trial.number, known.outcome):
                return replace(trial, measurement=known, reused_from=other_id)
        return trial

    def _contender(self, trial_id: str, setting: Setting) -> Trial:
        trial = self.trial(trial_id)
        if trial is None or self._tasks[trial.task_id].setting != setting:
            raise ValueError(
                f"trial {trial_id} is not one of workload, target, toolchain {setting}"
            )
        if trial.measurement is None or trial.measurement.outcome not in CONFIRMABLE:
            raise ValueError(f"trial {trial_id} has no valid result to confirm")
        return trial


def _is_measured(trial: Trial) -> bool:
    measured = trial.measurement
    return measured is not None and measured.outcome is not Outcome.PRUNED and not trial.reused_from


def _history_record(setting: Setting, trial: Trial) -> HistoryRecord:
    measurement = trial.measurement
    assert measurement is not None
    timing = measurement.timing
    return HistoryRecord(
        trial.id,
        *setting,
        trial.candidate,
        measurement.outcome,
        None if timing is None else timing.median_seconds,
        trial.features,
        trial.features_schema,
    )
