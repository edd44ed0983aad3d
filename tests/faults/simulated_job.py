"""Runs one job on a simulated machine and says on stdout what happened: run by the tests in a process they can kill.

Arguments: the database (or `memory`), the number of trials. A time is a function of the text alone, so that whatever
process measures a candidate gets the same. Lines: `built DIGEST`, `measured DIGEST`, `closed TASK NUMBER`, `end`.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from autosched.codegen.c import generate_c
from autosched.codegen.kernel import Kernel
from autosched.db.store import connect
from autosched.features.space import Space
from autosched.measure.protocol import Artefact, BuildResult, Check, TimingPolicy
from autosched.records.memory import MemoryStore
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Trial
from autosched.records.store import JobSpec, TuningStore
from autosched.search.evolution import EvolutionaryPolicy, EvolutionOptions
from autosched.search.random_policy import Stream
from autosched.sketch.generate import generate
from autosched.target.target import Target
from autosched.te.canonical import canonical
from autosched.te.workload import Workload, canonical_text, compute, placeholder, reduce_over
from autosched.testing.simulated import SimulatedMachine
from autosched.tuning.codebook import Codebook
from autosched.tuning.confirming import Confirming
from autosched.tuning.events import TrialFinished
from autosched.tuning.loop import Loop, LoopOptions
from autosched.tuning.measuring import Measuring
from autosched.tuning.phases import PhaseClock
from autosched.tuning.task import Subject, Task

TARGET = Target(
    kind="cpu",
    isa="x86-64",
    features=("avx", "avx2", "fma"),
    core_kind="",
    threads=2,
    vector_bytes=32,
    vector_registers=16,
    l1_bytes=32 << 10,
    l2_bytes=512 << 10,
    l3_bytes=16 << 20,
)
SMALL = EvolutionOptions(raw=128, parents=32, offspring=64, generations=1, trees=8)
FAILURES = (Outcome.CRASHED, Outcome.WRONG_RESULT, Outcome.COMPILE_ERROR)


def say(*words: object) -> None:
    print(*words, flush=True)


def answer(kernel: Kernel) -> float | Outcome:
    """One kernel in eight fails; the others take 0.1 to 1 ms."""
    number = int.from_bytes(hashlib.sha256(kernel.source.encode()).digest()[:4], "big")
    if number % 8 == 0:
        return FAILURES[number // 8 % len(FAILURES)]
    return 1e-4 + 9e-4 * (number % 10_007) / 10_007


class TalkingMachine(SimulatedMachine):
    """Says what it is asked to do before it answers."""

    def build(self, kernels: Sequence[Kernel], *, together: bool = False) -> list[BuildResult]:
        for kernel in kernels:
            say("built", kernel.digest)
        return super().build(kernels, together=together)

    def measure(
        self, artefact: Artefact, check: Check, policy: TimingPolicy, *, run: str = ""
    ) -> Measurement:
        say("measured", artefact.kernel.digest)
        return super().measure(artefact, check, policy, run=run)


def matmul(m: int, n: int, k: int) -> Workload:
    a, b = placeholder("a", (m, k)), placeholder("b", (k, n), constant=True)
    (c,) = compute(
        "c",
        {"i": m, "j": n},
        lambda i, j: reduce_over("sum", {"r": k}, lambda r: a[i, r] * b[r, j]),
    )
    return canonical(Workload("matmul", (a, b), (c,)))


def run_job(store: TuningStore, trials: int) -> list[Trial]:
    """Every trial of the job, task by task."""
    subjects = [Subject(f"k{k}", matmul(32, 48, k), operations=2.0 * 32 * 48 * k) for k in (32, 40)]
    spec = JobSpec("test", "g1-test", TARGET.key, TARGET.threads, "c1-simulated", 7, trials)
    specs = [s.to_spec(canonical_text(s.workload)) for s in subjects]
    job = store.open_job(spec, specs, asdict(TARGET), {"name": "simulated"}, ())
    machine, clock = TalkingMachine(answer), PhaseClock()
    tasks = [
        make_task(i, task_id, subject)
        for i, ((task_id, _), subject) in enumerate(zip(job.tasks, subjects, strict=True))
    ]

    def listen(event: object) -> None:
        if isinstance(event, TrialFinished):
            say("closed", event.task, event.number)

    measuring = Measuring(machine, machine, store, clock, TARGET.threads, listen)
    confirming = Confirming(machine, machine, store, clock, spec, "1")
    options = LoopOptions(trials, confirm_every=16, round_trials=6, space_version="1")
    Loop(tasks, options, store, measuring, confirming, clock, listen).run()
    store.end_job(job.id, "succeeded", "trials")
    return [t for task in tasks for t in store.trials(task.id)]


def make_task(index: int, task_id: str, subject: Subject) -> Task:
    sketches = generate(subject.workload, TARGET)[:6]
    codebook = Codebook(subject.workload, TARGET, sketches, generate_c)
    policy = EvolutionaryPolicy(Space(sketches, TARGET), Stream(7, index), options=SMALL)
    return Task(task_id, subject, codebook, policy, np.random.SeedSequence(7, spawn_key=(index,)))


def main() -> None:
    database, trials = sys.argv[1], int(sys.argv[2])
    store: TuningStore = MemoryStore() if database == "memory" else connect(database)
    for trial in run_job(store, trials):
        say("trial", trial.task_id[-1], trial.number, trial.round, trial.candidate.key)
    say("end")


if __name__ == "__main__":
    main()
