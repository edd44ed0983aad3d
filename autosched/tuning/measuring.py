"""A committed round to closed trials: generate, build in parallel, then time one after the other.

Texts are generated while earlier ones compile; builds end before timing begins, so that no compiler runs on the cores
that are being measured. Each trial is closed in the store as it ends: a kill loses at most those in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

from autosched.measure.protocol import Artefact, Builder, BuildResult, Runner, TimingPolicy
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Trial
from autosched.records.store import TuningStore
from autosched.tuning import progress
from autosched.tuning.events import Listener, TrialFinished
from autosched.tuning.in_flight import InFlight
from autosched.tuning.phases import PhaseClock
from autosched.tuning.task import Task
from autosched.tuning.turns import Turns

Result = tuple[Trial, BuildResult, Measurement]


@dataclass(eq=False)
class Measuring:
    """Builder, runner and store of a job; `listen` hears of every closed trial. `in_flight`: how many trials
    are handed to the runner at once for each device. `unstored`: trials that were run, or may have been, and of
    which the store knows neither the result nor a later attempt."""

    builder: Builder
    runner: Runner
    store: TuningStore
    clock: PhaseClock
    threads: int
    listen: Listener
    in_flight: InFlight = field(default_factory=lambda: InFlight(1))
    unstored: set[str] = field(default_factory=set)

    def run(self, task: Task, trials: Sequence[Trial], turns: Turns) -> None:
        """Closes every one of these open trials, in a turn."""
        with self.clock.phase("build"):
            builds = self.build(task, trials)
        runs = self._runs(task, trials, builds, turns.checkpoint)
        with closing(self.in_flight.results(runs, turns.n_devices())) as results:
            while (result := self._next(results)) is not None:
                trial, build, measurement = result
                self._close(task, trial, measurement)
                if build.artefact is not None:
                    task.keep_artefact(trial, build.artefact)

    def _next(self, results: Iterator[Result]) -> Result | None:
        with self.clock.phase("run"):
            return next(results, None)

    def _runs(
        self,
        task: Task,
        trials: Sequence[Trial],
        builds: Sequence[BuildResult],
        checkpoint: Callable[[], None],
    ) -> Iterator[Callable[[], Result]]:
        """What gives each trial's result."""
        for trial, build in zip(trials, builds, strict=True):
            checkpoint()
            policy = TimingPolicy(threads=self.threads, best_seconds=task.best_seconds)
            yield partial(self._result, task, trial, build, policy)

    def build(self, task: Task, trials: Sequence[Trial]) -> list[BuildResult]:
        """A build a trial, in order."""
        return self.builder.build(
            task.codebook.kernels([t.candidate for t in trials]), together=True
        )

    def _result(self, task: Task, trial: Trial, build: BuildResult, policy: TimingPolicy) -> Result:
        return trial, build, self._measurement(task, trial, build, policy)

    def _measurement(
        self, task: Task, trial: Trial, build: BuildResult, policy: TimingPolicy
    ) -> Measurement:
        """What a trial gave. A run that was lost with its runner says nothing of the candidate: it is run again, under
        the next attempt, until there is none."""
        if build.artefact is None:
            return Measurement(
                build.outcome, error=build.error, log=build.log, build_seconds=build.build_seconds
            )
        attempt: int | None = trial.attempt
        while attempt is not None:
            run = f"{trial.id}#{attempt}"
            measured = self.runner.measure(build.artefact, task.check, policy, run=run)
            self.unstored.add(trial.id)
            if measured.outcome is not Outcome.LOST:
                break
            attempt = self.store.next_attempt(task.id, trial.number)
            if attempt is not None:
                self.unstored.discard(trial.id)
        return _with_build(measured, build, build.artefact)

    def _close(self, task: Task, trial: Trial, measurement: Measurement) -> None:
        if self.store.close(task.id, trial.number, measurement):
            task.record(replace(trial, measurement=measurement))
        else:
            stored = {t.number: t for t in self.store.trials(task.id)}
            task.record(stored[trial.number])
        self.unstored.discard(trial.id)
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
