"""Tune a source on this machine: importers, rules, search, measuring and the database composed into one job."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from autosched.db.store import open_store
from autosched.entry.host_turns import HostTurns
from autosched.entry.job_run import JobContext, JobRun
from autosched.entry.machine import (
    DEVICE,
    Machine,
    check_runs_here,
    open_shared_machine,
    set_up,
)
from autosched.entry.work import TIMES_HELD, AnySource, Work, check_task_bytes, work_of
from autosched.errors import InvalidInput
from autosched.graph.limits import machine_memory
from autosched.records.store import Job, JobSpec, JobState, TuningStore
from autosched.target.calibration import calibration_values
from autosched.te.workload import canonical_text
from autosched.tuning import progress
from autosched.tuning.events import JobEnded, JobStarted, Listener, Notice, silent
from autosched.tuning.report import Report
from autosched.tuning.turns import Alone, Turns
from autosched.tuning.warm_start import warm_start

POLICY = "evolutionary"

MOST_TRIALS = (1 << 31) - 1
"""As many as the numbers of trials in a database go."""


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
    check_task_bytes(work, machine_memory() // TIMES_HELD)
    check_runs_here(setup)
    turns = HostTurns(DEVICE, on_wait=lambda m: listen(Notice(m)))
    with open_store(db) as store, ExitStack() as opened:
        with turns.step():
            machine = opened.enter_context(open_shared_machine(setup, seed=seed, journal=journal))
        request = TuneRequest(trials, seed, policy)
        return TuneJob(work, request, machine, store, listen=listen, turns=turns).run()


class TuneJob:
    """One job on an open machine and store; without `turns` it is alone there."""

    def __init__(
        self,
        work: Work,
        request: TuneRequest,
        machine: Machine,
        store: TuningStore,
        *,
        listen: Listener = silent,
        turns: Turns | None = None,
    ) -> None:
        self.work = work
        self.request = request
        self.machine = machine
        self.store = store
        self.listen = listen
        self.turns = turns or Alone()

    def run(self) -> Report:
        """Runs or goes on with the job; an interrupted one stays open, for the same command to go on with."""
        job = self._open()
        context = JobContext(self.machine, self.store, self.turns, self.listen)
        run = JobRun(
            job,
            self.work.subjects,
            context,
            policy=self.request.policy,
            relative=self.work.relative,
        )
        report = run.run()
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
        started = warm_start(self.store, target.isa, [s.workload_key for s in specs])
        history = [r.trial_id for r in started]
        job = self.store.open_job(spec, specs, asdict(target), asdict(toolchain), history)
        self.store.calibrate(target.key, calibration_values(self.machine.calibration))
        done = sum(progress.finished(self.store.trials(task_id)) for task_id, _ in job.tasks)
        names = tuple(s.name for s in work.subjects)
        self.listen(JobStarted(job.id, names, self.request.trials, done, len(job.history)))
        return job

    def _end(self, job: Job, report: Report) -> None:
        if report.end is None:
            self.listen(JobEnded(job.id, "running", "interrupted"))
            return
        state: JobState = "failed" if report.failed_tasks else "succeeded"
        reason = "no_valid_candidate" if report.failed_tasks else report.end
        self.store.end_job(job.id, state, reason)
        self.listen(JobEnded(job.id, state, reason))
