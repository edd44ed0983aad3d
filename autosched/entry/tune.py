"""Tune a source on this machine: importers, rules, search, measuring and the database composed into one job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from autosched.codegen.c import generate_c
from autosched.db.store import open_store
from autosched.entry.machine import Machine, open_machine, set_up
from autosched.entry.space_version import SPACE_VERSION
from autosched.entry.work import AnySource, Work, work_of
from autosched.errors import InvalidInput
from autosched.features.space import Space
from autosched.records.store import HistoryRecord, Job, JobSpec, JobState, TuningStore
from autosched.search.make import make_policy
from autosched.sketch.generate import generate
from autosched.target.calibration import calibration_values
from autosched.te.workload import canonical_text
from autosched.tuning import progress
from autosched.tuning.codebook import Codebook
from autosched.tuning.confirming import Confirming
from autosched.tuning.events import JobEnded, JobStarted, Listener, Notice, silent
from autosched.tuning.loop import Loop, LoopOptions
from autosched.tuning.measuring import Measuring
from autosched.tuning.phases import PhaseClock
from autosched.tuning.report import Report, job_report
from autosched.tuning.task import Task

POLICY = "evolutionary"

MOST_TRIALS = (1 << 31) - 1
"""As many as the numbers of trials in a database go."""

CHECK_STREAM = 1 << 31
"""Rounds are numbered from 0; no search draws from this stream."""


@dataclass(frozen=True)
class TuneRequest:
    """What identifies the search: the budget over all tasks, the seed and the policy."""

    trials: int
    seed: int = 0
    policy: str = POLICY


def tune(
    source: AnySource,
    *,
    trials: int,
    target: str = "host",
    threads: int | None = None,
    db: str | None = None,
    seed: int = 0,
    compiler: str | None = None,
    policy: str = POLICY,
    journal: Path | None = None,
    listen: Listener = silent,
) -> Report:
    """Searches for fast kernels of every workload of `source` and keeps each result in the database `db`.

    `trials` counts candidates over all tasks. `threads` defaults to the physical cores allowed, `db` to a file in the
    user's data directory. The identical call goes on with its unfinished job. An interrupt (KeyboardInterrupt) ends the
    search, keeps what is done and returns a report that says so. `journal`: a file to which the runner logs what it
    ran. InvalidInput: anything wrong with the arguments.
    """
    if not 1 <= trials <= MOST_TRIALS:
        raise InvalidInput(f"trials {trials}: must be at least 1 and at most {MOST_TRIALS}")
    if seed < 0:
        raise InvalidInput(f"seed {seed}: must be at least 0")
    setup = set_up(target, threads, compiler)
    work = work_of(source)
    with (
        open_store(db) as store,
        open_machine(
            setup, seed=seed, journal=journal, on_wait=lambda m: listen(Notice(m))
        ) as machine,
    ):
        return TuneJob(work, TuneRequest(trials, seed, policy), machine, store, listen).run()


class TuneJob:
    """One job on an open machine and store."""

    def __init__(
        self,
        work: Work,
        request: TuneRequest,
        machine: Machine,
        store: TuningStore,
        listen: Listener = silent,
    ) -> None:
        self.work = work
        self.request = request
        self.machine = machine
        self.store = store
        self.listen = listen
        self.clock = PhaseClock()

    def run(self) -> Report:
        """Runs or goes on with the job; an interrupted one stays open, for the same command to go on with."""
        job = self._open()
        tasks: list[Task] = []
        interrupted = False
        try:
            tasks += self._tasks(job)
            self._loop(job, tasks).run()
        except KeyboardInterrupt:
            interrupted = True
        report = job_report(
            job,
            tasks,
            self.machine.bound_seconds,
            self.clock.seconds(),
            interrupted=interrupted,
        )
        self._end(job, report)
        return report

    def _open(self) -> Job:
        work, target, toolchain = self.work, self.machine.target, self.machine.toolchain
        spec = JobSpec(
            source=work.name,
            source_key=work.key,
            target_key=target.key,
            threads=target.threads,
            toolchain_key=toolchain.key,
            seed=self.request.seed,
            trials=self.request.trials,
        )
        specs = [s.to_spec(canonical_text(s.workload)) for s in work.subjects]
        history = [r.trial_id for r in self.store.history(target.isa)]
        job = self.store.open_job(spec, specs, asdict(target), asdict(toolchain), history)
        self.store.calibrate(target.key, calibration_values(self.machine.calibration))
        done = sum(progress.finished(self.store.trials(task_id)) for task_id, _ in job.tasks)
        names = tuple(s.name for s in work.subjects)
        self.listen(JobStarted(job.id, names, self.request.trials, done, len(job.history)))
        return job

    def _tasks(self, job: Job) -> list[Task]:
        with self.clock.phase("search"):
            history = self.store.records(job.history)
            return [self._task(job, i, history) for i in range(len(self.work.subjects))]

    def _task(self, job: Job, position: int, history: Sequence[HistoryRecord]) -> Task:
        """The task with its sketches; its streams are spawned by position, so that tasks never share draws."""
        subject, target = self.work.subjects[position], self.machine.target
        sketches = generate(subject.workload, target)
        policy = make_policy(
            self.request.policy,
            Space(sketches, target),
            seed=self.request.seed,
            task=position,
            history=history,
        )
        return Task(
            id=job.tasks[position][0],
            subject=subject,
            codebook=Codebook(subject.workload, target, sketches, generate_c),
            policy=policy,
            random=np.random.SeedSequence(self.request.seed, spawn_key=(position, CHECK_STREAM)),
        )

    def _loop(self, job: Job, tasks: Sequence[Task]) -> Loop:
        machine, store, clock = self.machine, self.store, self.clock
        measuring = Measuring(
            machine.builder, machine.runner, store, clock, machine.target.threads, self.listen
        )
        confirming = Confirming(
            machine.builder, machine.runner, store, clock, job.spec, SPACE_VERSION
        )
        options = LoopOptions(
            self.request.trials, relative=self.work.relative, space_version=SPACE_VERSION
        )
        return Loop(tasks, options, store, measuring, confirming, clock, self.listen)

    def _end(self, job: Job, report: Report) -> None:
        if report.interrupted:
            self.listen(JobEnded(job.id, "running", "interrupted"))
            return
        state: JobState = "failed" if report.failed_tasks else "succeeded"
        reason = "no_valid_candidate" if report.failed_tasks else "trials"
        self.store.end_job(job.id, state, reason)
        self.listen(JobEnded(job.id, state, reason))
