"""A job that the store has, run: sketches, search, codegen and measuring composed into its loop.

What opened it does not matter: a command on this machine, or a claim on the service's queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from autosched.entry.machine import Machine
from autosched.entry.space_version import SPACE_VERSION
from autosched.features.space import Space
from autosched.records.store import HistoryRecord, Job, TuningStore
from autosched.search.make import LEARNING, make_policy
from autosched.sketch.generate import generate
from autosched.tuning.codebook import Codebook
from autosched.tuning.confirming import Confirming
from autosched.tuning.events import Listener, silent
from autosched.tuning.in_flight import InFlight
from autosched.tuning.loop import Loop, LoopEnd, LoopOptions
from autosched.tuning.measuring import Measuring
from autosched.tuning.phases import PhaseClock
from autosched.tuning.report import Report, job_report
from autosched.tuning.task import Subject, Task
from autosched.tuning.turns import Alone, Stopped, Turns

CHECK_STREAM = 1 << 31
"""Rounds are numbered from 0; no search draws from this stream."""


@dataclass(frozen=True)
class JobContext:
    """Where a job runs: machine, store, turns (by default it is alone there), and who hears of it. `in_flight`:
    trials handed to a device at once; one where it is of these cores."""

    machine: Machine
    store: TuningStore
    turns: Turns = field(default_factory=Alone)
    listen: Listener = silent
    in_flight: int = 1


class JobRun:
    """One run of a job. `subjects` are those of the job's tasks, in order; `seconds`, `relative` and `is_inherited` as
    in `LoopOptions`."""

    def __init__(
        self,
        job: Job,
        subjects: Sequence[Subject],
        context: JobContext,
        *,
        policy: str,
        seconds: float | None = None,
        relative: bool = False,
        is_inherited: bool = True,
    ) -> None:
        self.job = job
        self.subjects = subjects
        self.context = context
        self.policy = policy
        self.clock = PhaseClock()
        self.tasks: list[Task] = []
        self._measuring = self._make_measuring()
        self._options = LoopOptions(
            job.spec.trials,
            seconds=seconds,
            relative=relative,
            is_inherited=is_inherited,
            space_version=SPACE_VERSION,
        )

    def run(self) -> Report:
        """To the end of the budget, or to an interrupt (KeyboardInterrupt, Stopped), of which the report tells."""
        end: LoopEnd | None = None
        try:
            with self.context.turns.step():
                self._make_tasks()
            end = self._loop().run()
        except (KeyboardInterrupt, Stopped):
            pass
        bound = self.context.machine.bound_seconds
        return job_report(self.job, self.tasks, bound, self.clock.seconds(), end=end)

    @property
    def is_clean(self) -> bool:
        """Whether all that was run is in the store."""
        return not self._measuring.unstored

    def _make_tasks(self) -> None:
        with self.clock.phase("search"):
            used = self.policy in LEARNING
            history = self.context.store.records(self.job.history) if used else ()
            self.tasks += [self._task(i, history) for i in range(len(self.subjects))]

    def _task(self, position: int, history: Sequence[HistoryRecord]) -> Task:
        """The task with its sketches; its streams are spawned by position, so that tasks never share draws."""
        subject, machine, seed = self.subjects[position], self.context.machine, self.job.spec.seed
        sketches = generate(subject.workload, machine.target)
        policy = make_policy(
            self.policy,
            Space(sketches, machine.target),
            seed=seed,
            task=position,
            history=history,
        )
        return Task(
            id=self.job.tasks[position][0],
            subject=subject,
            codebook=Codebook(subject.workload, machine.target, sketches, machine.generate),
            policy=policy,
            random=np.random.SeedSequence(seed, spawn_key=(position, CHECK_STREAM)),
        )

    def _loop(self) -> Loop:
        machine, store, clock = self.context.machine, self.context.store, self.clock
        confirming = Confirming(
            machine.builder, machine.runner, store, clock, self.job.spec, SPACE_VERSION
        )
        return Loop(
            self.tasks,
            self._options,
            store,
            self._measuring,
            confirming,
            clock,
            self.context.listen,
            turns=self.context.turns,
        )

    def _make_measuring(self) -> Measuring:
        machine = self.context.machine
        return Measuring(
            machine.builder,
            machine.runner,
            self.context.store,
            self.clock,
            machine.target.threads,
            self.context.listen,
            InFlight(self.context.in_flight),
        )
