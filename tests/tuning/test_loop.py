"""The loop of a job on a simulated machine: budget, order of commits, failures, and going on after a kill."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autosched.codegen.c import generate_c
from autosched.codegen.kernel import Kernel
from autosched.features.space import Space
from autosched.nest.nodes import Nest
from autosched.records.memory import MemoryStore
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Trial
from autosched.records.store import MAX_ATTEMPTS, Job, JobSpec
from autosched.search.make import make_policy
from autosched.sketch.generate import generate
from autosched.target.files import load_target
from autosched.target.target import Target
from autosched.te.canonical import canonical
from autosched.te.integer import Int
from autosched.te.workload import (
    Workload,
    canonical_text,
    compute,
    placeholder,
    reduce_over,
)
from autosched.testing.simulated import SimulatedMachine
from autosched.tuning import progress
from autosched.tuning.codebook import Codebook
from autosched.tuning.confirming import Confirming
from autosched.tuning.events import Event, TaskConfirmed, TrialFinished
from autosched.tuning.loop import Loop, LoopOptions
from autosched.tuning.measuring import Measuring
from autosched.tuning.phases import PhaseClock
from autosched.tuning.report import job_report
from autosched.tuning.roofline import operations
from autosched.tuning.task import Subject, Task

TARGET = load_target("haswell")
Answer = Callable[[Kernel], float | Outcome]


def matmul(n: int) -> Workload:
    a, b = placeholder("a", (n, 24)), placeholder("b", (24, 32))
    (c,) = compute(
        "c",
        {"i": n, "j": 32},
        lambda i, j: reduce_over("sum", {"k": 24}, lambda k: a[i, k] * b[k, j]),
    )
    return canonical(Workload(f"matmul{n}", (a, b), (c,)))


WORKLOADS = (matmul(16), matmul(48))
SPACES = {w.key: Space(generate(w, TARGET), TARGET) for w in WORKLOADS}
TEXTS: dict[tuple[int, tuple[tuple[int, int], ...]], Kernel] = {}


def generate_once(nest: Nest, env: Mapping[Int, int], target: Target, name: str) -> Kernel:
    """Text does not depend on the run; the tests need not wait for it again."""
    key = (id(nest), tuple((id(s), v) for s, v in env.items()))
    if key not in TEXTS:
        TEXTS[key] = generate_c(nest, env, target, name)
    return TEXTS[key]


def some_seconds(kernel: Kernel) -> float:
    """A time that only the text decides."""
    return 1e-6 * (1 + int(kernel.digest[3:9], 16) % 1000)


class Rig:
    """One run of a job over a store that outlives it."""

    def __init__(
        self, store: Any, answer: Answer = some_seconds, trials: int = 24, seed: int = 3
    ) -> None:
        self.store = store
        self.machine = SimulatedMachine(answer)
        self.events: list[Event] = []
        self.clock = PhaseClock()
        spec = JobSpec("test", "g1-x", TARGET.key, TARGET.threads, "c1-x", seed, trials)
        subjects = [Subject(w.name, w, 1 + i, None, operations(w)) for i, w in enumerate(WORKLOADS)]
        specs = [s.to_spec(canonical_text(s.workload)) for s in subjects]
        self.job: Job = store.open_job(spec, specs, {}, {}, [])
        self.tasks = [self._task(i, s, seed) for i, s in enumerate(subjects)]
        measuring = Measuring(
            self.machine, self.machine, store, self.clock, TARGET.threads, self.events.append
        )
        confirming = Confirming(self.machine, self.machine, store, self.clock, spec, "1")
        options = LoopOptions(trials, confirm_every=8)
        self.loop = Loop(
            self.tasks, options, store, measuring, confirming, self.clock, self.events.append
        )

    def _task(self, position: int, subject: Subject, seed: int) -> Task:
        space = SPACES[subject.workload.key]
        policy = make_policy("random", space, seed=seed, task=position)
        book = Codebook(subject.workload, TARGET, space.sketches, generate_once)
        return Task(
            self.job.tasks[position][0], subject, book, policy, np.random.SeedSequence(seed)
        )

    def trials(self) -> list[Trial]:
        return [t for task_id, _ in self.job.tasks for t in self.store.trials(task_id)]


class Killed(Exception):
    """The process is gone."""


class FailingStore(MemoryStore):
    """Raises at the n-th write, before or after it is done."""

    def __init__(self, at: int, *, after: bool) -> None:
        super().__init__()
        self.left = at
        self.after = after

    def _write(self, write: Callable[[], Any]) -> Any:
        self.left -= 1
        if self.left == 0 and not self.after:
            raise Killed
        result = write()
        if self.left == 0:
            raise Killed
        return result

    def propose(self, task_id: str, round: int, trials: Sequence[Trial]) -> tuple[Trial, ...]:
        made: tuple[Trial, ...] = self._write(
            lambda: super(FailingStore, self).propose(task_id, round, trials)
        )
        return made

    def close(self, task_id: str, number: int, measurement: Measurement) -> bool:
        return bool(
            self._write(lambda: super(FailingStore, self).close(task_id, number, measurement))
        )

    def next_attempt(
        self, task_id: str, number: int, *, attempts: int = MAX_ATTEMPTS
    ) -> int | None:
        attempt: int | None = self._write(
            lambda: super(FailingStore, self).next_attempt(task_id, number, attempts=attempts)
        )
        return attempt


def proposals(trials: Sequence[Trial]) -> list[tuple[str, int, int, str]]:
    return [(t.task_id[-2:], t.number, t.round, t.candidate.key) for t in trials]


def test_the_budget_is_spent_and_every_trial_is_closed() -> None:
    rig = Rig(MemoryStore())
    rig.loop.run()
    trials = rig.trials()
    assert progress.spent(trials) == 24
    assert all(t.measurement is not None for t in trials)
    assert [t.number for t in rig.store.trials(rig.job.tasks[0][0])] == list(
        range(len(rig.tasks[0].trials))
    )
    assert sum(isinstance(e, TrialFinished) for e in rig.events) == len(trials)


def test_defaults_come_first_and_are_confirmed_at_once() -> None:
    rig = Rig(MemoryStore())
    rig.loop.run()
    kinds = [type(e) for e in rig.events if isinstance(e, (TrialFinished, TaskConfirmed))]
    assert kinds[:4] == [TrialFinished, TaskConfirmed, TrialFinished, TaskConfirmed]
    for task_id, spec in rig.job.tasks:
        assert rig.store.best(spec.workload_key)
        assert rig.store.trials(task_id)[0].round == 0


def test_the_winner_is_the_fastest_and_never_slower_than_the_default() -> None:
    rig = Rig(MemoryStore())
    rig.loop.run()
    report = job_report(rig.job, rig.tasks, lambda s: 1e-9, rig.clock.seconds(), end="trials")
    for task, one in zip(rig.tasks, report.tasks, strict=True):
        fastest = task.best_seconds
        assert fastest is not None
        assert one.best_seconds is not None
        assert one.default_seconds is not None
        assert one.best_seconds <= fastest * 1.011
        assert one.best_seconds <= one.default_seconds
        assert sum(one.outcomes.values()) == one.trials
    assert sum(report.phase_seconds.values()) == pytest.approx(report.wall_seconds)


def test_failures_are_outcomes_and_the_job_ends_well() -> None:
    kinds = [o for o in Outcome if o not in (Outcome.OK, Outcome.PRUNED)]

    def answer(kernel: Kernel) -> float | Outcome:
        pick = int(hashlib.sha256(kernel.digest.encode()).hexdigest()[:4], 16)
        return kinds[pick % len(kinds)] if pick % 3 == 0 else some_seconds(kernel)

    rig = Rig(MemoryStore(), answer)
    rig.loop.run()
    found = {t.measurement.outcome for t in rig.trials() if t.measurement is not None}
    assert len(found) > 2
    assert progress.spent(rig.trials()) == 24


def test_no_kernel_ever_works_and_the_job_still_ends() -> None:
    rig = Rig(MemoryStore(), lambda kernel: Outcome.WRONG_RESULT)
    rig.loop.run()
    report = job_report(rig.job, rig.tasks, lambda s: 1e-9, rig.clock.seconds(), end="trials")
    assert report.failed_tasks == tuple(w.name for w in WORKLOADS)
    assert report.estimated_graph_seconds is None
    assert not rig.store.best(WORKLOADS[0].key)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [1, 2, 6, 19])
def test_a_killed_job_goes_on_exactly_as_it_would_have(at: int, *, after: bool) -> None:
    whole = Rig(MemoryStore())
    whole.loop.run()
    store = FailingStore(at, after=after)
    first = Rig(store)
    with pytest.raises(Killed):
        first.loop.run()
    closed = {t.id: t.measurement for t in first.trials() if t.measurement is not None}
    known = closed.keys() | first.loop.measuring.unstored
    assert len(first.machine.measured) == len(known), "what was run and not stored is known"
    second = Rig(store)
    assert second.job.id == first.job.id
    second.loop.run()
    assert proposals(second.trials()) == proposals(whole.trials())
    again = {t.id: t.measurement for t in second.trials()}
    assert all(again[trial_id] == measurement for trial_id, measurement in closed.items())


@pytest.mark.parametrize("at", [2, 3, 5])
def test_a_lost_run_is_unstored_until_its_next_attempt_or_its_loss_is_stored(at: int) -> None:
    rig = Rig(FailingStore(at, after=False), lambda kernel: Outcome.LOST)
    with pytest.raises(Killed):  # at 2 and 3: the next attempt; at 5, after the last: the loss
        rig.loop.run()
    assert rig.loop.measuring.unstored == {rig.trials()[0].id}


def test_the_same_seed_proposes_the_same_and_another_does_not() -> None:
    runs = [Rig(MemoryStore(), seed=s) for s in (3, 3, 4)]
    for rig in runs:
        rig.loop.run()
    first, same, other = (proposals(r.trials()) for r in runs)
    assert first == same
    assert first != other


def test_a_default_that_fails_does_not_keep_others_from_winning() -> None:
    defaults: set[str] = set()

    def answer(kernel: Kernel) -> float | Outcome:
        if len(defaults) < 2:
            defaults.add(kernel.digest)
        return Outcome.WRONG_RESULT if kernel.digest in defaults else some_seconds(kernel)

    rig = Rig(MemoryStore(), answer)
    rig.loop.run()
    report = job_report(rig.job, rig.tasks, lambda s: 1e-9, rig.clock.seconds(), end="trials")
    assert not report.failed_tasks
    for task in report.tasks:
        assert task.default_seconds is None
        assert task.best_seconds is not None


def test_a_machine_that_is_never_quiet_still_gets_confirmed_winners() -> None:
    rig = Rig(MemoryStore())
    honest = rig.machine.measure

    def shaken(*arguments: Any, run: str) -> Measurement:
        found = honest(*arguments)
        assert found.timing is not None
        timing = replace(found.timing, contended_share=1.0)
        return replace(found, outcome=Outcome.UNSTABLE, timing=timing)

    rig.machine.measure = shaken  # type: ignore[method-assign]
    rig.loop.run()
    report = job_report(rig.job, rig.tasks, lambda s: 1e-9, rig.clock.seconds(), end="trials")
    assert not report.failed_tasks
    assert all(t.speedup is not None and t.speedup >= 1 for t in report.tasks)
