"""A committed round to closed trials: generate, build in parallel, then time one after the other.

Texts are generated while earlier ones compile; builds end before timing begins, so that no compiler runs on the cores
that are being measured. Each trial is closed in the store as it ends: a kill loses at most the one that was running, and
the one before it where results are stored `ahead`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from autosched.measure.protocol import Artefact, Builder, BuildResult, Runner, TimingPolicy
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Trial
from autosched.records.store import TuningStore
from autosched.tuning import progress
from autosched.tuning.events import Listener, TrialFinished
from autosched.tuning.phases import PhaseClock
from autosched.tuning.storing import storing
from autosched.tuning.task import Task


@dataclass(eq=False)
class Measuring:
    """Builder, runner and store of a job; `listen` hears of every closed trial. `ahead`: the device need not wait for a
    result to be stored (see `storing`)."""

    builder: Builder
    runner: Runner
    store: TuningStore
    clock: PhaseClock
    threads: int
    listen: Listener
    ahead: bool = False

    def run(
        self, task: Task, trials: Sequence[Trial], checkpoint: Callable[[], None] = lambda: None
    ) -> None:
        """Closes every one of these open trials; `checkpoint` is called before each and may raise."""
        with self.clock.phase("build"):
            builds = self.build(task, trials)
        with storing(ahead=self.ahead) as store:
            for trial, build in zip(trials, builds, strict=True):
                checkpoint()
                measured = self._measurement(task, trial, build)
                store(partial(self._finish, task, trial, build, measured))

    def build(self, task: Task, trials: Sequence[Trial]) -> list[BuildResult]:
        """A build a trial, in order."""
        return self.builder.build(
            task.codebook.kernels([t.candidate for t in trials]), together=True
        )

    def _measurement(self, task: Task, trial: Trial, build: BuildResult) -> Measurement:
        """What a trial gave. A run that was lost with its runner says nothing of the candidate: it is run again, under
        the next attempt, until there is none."""
        if build.artefact is None:
            return Measurement(
                build.outcome, error=build.error, log=build.log, build_seconds=build.build_seconds
            )
        policy = TimingPolicy(threads=self.threads, best_seconds=task.best_seconds)
        with self.clock.phase("run"):
            attempt: int | None = trial.attempt
            while attempt is not None:
                run = f"{trial.id}#{attempt}"
                measured = self.runner.measure(build.artefact, task.check, policy, run=run)
                if measured.outcome is not Outcome.LOST:
                    break
                attempt = self.store.next_attempt(task.id, trial.number)
        return _with_build(measured, build, build.artefact)

    def _finish(self, task: Task, trial: Trial, build: BuildResult, measured: Measurement) -> None:
        self._close(task, trial, measured)
        if build.artefact is not None:
            task.keep_artefact(trial, build.artefact)

    def _close(self, task: Task, trial: Trial, measurement: Measurement) -> None:
        if self.store.close(task.id, trial.number, measurement):
            task.record(replace(trial, measurement=measurement))
        else:
            stored = {t.number: t for t in self.store.trials(task.id)}
            task.record(stored[trial.number])
        self.report(task, task.trials[trial.number])

    def report(self, task: Task, trial: Trial) -> None:
        """Tells the listener of a closed trial."""
        measurement = trial.measurement
        assert measurement is not None
        self.listen(
            TrialFinished(
                task.subject.name,
                trial.number,
                measurement.outcome,
                progress.median_seconds(trial),
                task.best_seconds,
                measurement.error,
            )
        )


def _with_build(measured: Measurement, build: BuildResult, artefact: Artefact) -> Measurement:
    return replace(
        measured,
        build_seconds=build.build_seconds,
        log=measured.log or build.log,
        source_digest=artefact.kernel.digest,
    )
