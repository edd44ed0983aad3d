"""One job, in a process of its own: from its claim to its end, or to where it is told to stop.

It begins with what the claim says and what the store has, and ends by saying how the job ended; only then does the
dispatcher end the job, so that a process that dies anywhere leaves a job that another goes on with.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, cast

from autosched.db.store import SqlTuningStore, connect
from autosched.entry.job_run import JobContext, JobRun
from autosched.entry.machine import Machine, Setup
from autosched.entry.submitted import subjects_of
from autosched.errors import AutoschedError
from autosched.jobs.queue import FencedStore, FenceLost
from autosched.jobs.record import EventType, SetupKey
from autosched.records.outcome import Outcome
from autosched.records.store import Job
from autosched.search.make import LEARNING
from autosched.target.calibration import calibration_values
from autosched.tuning.report import Report
from autosched.tuning.task import Subject
from autosched.tuning.turns import Stopped
from autosched.tuning.warm_start import warm_start
from autosched.wire.job import standing_document
from autosched.wire.tune import TaskDocument
from autosched_workers.announce import Announcer
from autosched_workers.lab import Lab, setup_of
from autosched_workers.messages import JobEnd
from autosched_workers.patient import Patient
from autosched_workers.tally import TalliedStore, Tally
from autosched_workers.turns import GrantedTurns, TurnRules, send

PRELOADED = (
    "autosched_workers.job_process",
    "autosched.entry.tune",
    "autosched.search.evolution",
    "xgboost",
    "onnx",
)
"""Modules that every job's process needs, imported once by the server that forks them."""


@dataclass(frozen=True)
class Assignment:
    """What a process is told: the job, under which fence, where the database is. `is_inherited` as in `Claim`."""

    db: str
    job_id: str
    fence: int
    is_inherited: bool
    seconds: float | None
    policy: str
    rules: TurnRules


def run_job(assignment: Assignment, lab: Lab, pipe: Connection) -> None:
    """The body of the process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # who ends the dispatcher ends its jobs through it
    turns = GrantedTurns(pipe, assignment.rules, lab.turn)
    store = connect(assignment.db, connections=2)
    run = _Run(assignment, lab, turns, store)
    try:
        end = run.run()
    except (Stopped, FenceLost):
        end = None
    except AutoschedError as error:
        end = JobEnd("failed", "error", str(error))
    finally:
        store.close_connections()
    how = None if end is None else [end.state, end.reason, end.error]
    with contextlib.suppress(OSError):  # a dispatcher that is gone has nobody hear it
        send(pipe, say="end", end=how, is_clean=run.is_clean)


class _Run:
    """`is_clean`: all that was run is in the store."""

    def __init__(
        self, assignment: Assignment, lab: Lab, turns: GrantedTurns, store: SqlTuningStore
    ) -> None:
        self.assignment = assignment
        self.lab = lab
        self.turns = turns
        self.is_clean = True
        self.queue = cast(SqlTuningStore, Patient(store, turns.checkpoint))
        fenced = store.fenced(assignment.job_id, assignment.fence)
        self.tally = Tally(self.queue.count)
        patient = cast(FencedStore, Patient(fenced, turns.checkpoint))
        self.store = cast(FencedStore, TalliedStore(patient, self.tally))

    def run(self) -> JobEnd | None:
        """How the job ended; None if it was stopped."""
        job = self._job()
        subjects = subjects_of([spec for _, spec in job.tasks])
        if not subjects:
            return JobEnd("succeeded", "exhausted")
        with contextlib.ExitStack() as stack:
            with self.turns.device():
                machine = stack.enter_context(
                    self.lab.open(self._setup(job), job.spec.seed, self.turns)
                )
            return self._tune(job, subjects, machine)

    def _tune(self, job: Job, subjects: Sequence[Subject], machine: Machine) -> JobEnd | None:
        done = self._done(job)
        self._begin(job, subjects, machine, is_first=not done)
        announcer = Announcer(self._append, self._standing, job.spec.trials, done)
        context = JobContext(machine, self.store, self.turns, announcer, self.lab.in_flight)
        run = JobRun(
            self._job(),  # with the history that it begins from, noted just now
            subjects,
            context,
            policy=self.assignment.policy,
            seconds=self.assignment.seconds,
            relative=job.spec.source.startswith("suite:"),
            is_inherited=self.assignment.is_inherited,
        )
        try:
            report = run.run()
        finally:
            self.is_clean = run.is_clean
            self.tally.flush()
        announcer.flush()
        announcer.spent(report.phase_seconds)
        return _end_of(report)

    def _begin(
        self, job: Job, subjects: Sequence[Subject], machine: Machine, *, is_first: bool
    ) -> None:
        """Notes what the search starts from, and what the machine allows each task."""
        self.queue.calibrate(job.spec.target_key, calibration_values(machine.calibration))
        pairs = zip(job.tasks, subjects, strict=True)
        bounds = {i: (s.operations, machine.bound_seconds(s)) for (i, _), s in pairs}
        reads = is_first and self.assignment.policy in LEARNING
        keys = [spec.workload_key for _, spec in job.tasks]
        history = warm_start(self.queue, machine.target.isa, keys) if reads else ()
        self.store.begin([r.trial_id for r in history], bounds)

    def _setup(self, job: Job) -> Setup:
        key = SetupKey(job.spec.target_key, job.spec.toolchain_key)
        target, toolchain = self.queue.target(key.target), self.queue.toolchain(key.toolchain)
        assert target is not None, "a job's target is in the database"
        assert toolchain is not None, "and so is its toolchain"
        return setup_of(key, target, toolchain)

    def _job(self) -> Job:
        submitted = self.queue.submitted(self.assignment.job_id)
        assert submitted is not None, "a claimed job is in the database"
        return submitted.job

    def _append(self, kind: EventType, data: Mapping[str, Any]) -> None:
        self.queue.append_event(self.assignment.job_id, kind, data)

    def _standing(self, name: str) -> TaskDocument:
        standings = self.queue.standings([self.assignment.job_id])[self.assignment.job_id]
        return next(standing_document(s) for s in standings if s.spec.name == name)

    def _done(self, job: Job) -> list[Outcome]:
        """Outcomes of what earlier processes closed, the defaults left out."""
        trials = [t for task_id, _ in job.tasks for t in self.store.trials(task_id)]
        return [t.measurement.outcome for t in trials if t.measurement and t.number > 0]


def _end_of(report: Report) -> JobEnd | None:
    if report.end is None:
        return None
    if report.failed_tasks:
        return JobEnd("failed", "no_valid_candidate", f"no valid kernel: {report.failed_tasks[0]}")
    return JobEnd("succeeded", report.end)
