"""One stored trial: what it was, what it gave, and the same again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autosched.codegen.c import generate_c
from autosched.codegen.kernel import Kernel
from autosched.db.store import SqlTuningStore
from autosched.entry.machine import Setup, open_machine
from autosched.errors import InvalidInput
from autosched.measure.protocol import TimingPolicy
from autosched.nest.printer import nest_text
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Trial, job_id_of
from autosched.records.store import MeasurementRow, TaskSpec
from autosched.sketch.generate import generate
from autosched.target.files import target_of_fields
from autosched.target.target import Target
from autosched.target.toolchain import find_toolchain
from autosched.te.parser import parse_workload
from autosched.tuning.check import make_check
from autosched.tuning.codebook import Codebook


@dataclass(frozen=True)
class StoredTrial:
    """A trial with everything the database knows around it. `source` and `seed` are those of its job."""

    trial: Trial
    source: str
    seed: int
    task: TaskSpec
    target: Target
    toolchain: dict[str, Any]
    measurements: tuple[MeasurementRow, ...]

    @property
    def job_id(self) -> str:
        return job_id_of(self.trial.task_id)


def find_trial(store: SqlTuningStore, trial_id: str) -> StoredTrial:
    """The trial of this id; InvalidInput if there is none."""
    trial = store.trial(trial_id)
    if trial is None:
        raise InvalidInput(f"trial {trial_id!r}: there is none in this database")
    job = store.job(job_id_of(trial.task_id))
    assert job is not None, "a trial has a job"
    task = dict(job.tasks)[trial.task_id]
    target = target_of_fields(store.target(job.spec.target_key) or {}, trial_id)
    toolchain = dict(store.toolchain(job.spec.toolchain_key) or {})
    spec, runs = job.spec, store.measurements(trial_id)
    return StoredTrial(trial, spec.source, spec.seed, task, target, toolchain, runs)


def codebook_of(stored: StoredTrial) -> Codebook:
    """The task's space as this version derives it from the stored text of the workload."""
    workload = parse_workload(stored.task.workload_text, stored.task.name)
    return Codebook(workload, stored.target, generate(workload, stored.target), generate_c)


def kernel_of(stored: StoredTrial) -> Kernel:
    """The kernel as this version generates it."""
    return codebook_of(stored).kernel(stored.trial.candidate)


def nest_of(stored: StoredTrial) -> str:
    """The concrete loop program as text."""
    codebook = codebook_of(stored)
    candidate = stored.trial.candidate
    sketch = codebook.sketch(candidate)
    return nest_text(sketch.nest, sketch.environment(candidate.values))


def keep_replay(store: SqlTuningStore, stored: StoredTrial, found: Measurement) -> None:
    """Stores a replay beside the trial's other runs; one that tells nothing of the trial is left out."""
    if not stored.trial.is_open and found.outcome is not Outcome.LOST:
        store.add_measurement(MeasurementRow(stored.trial.id, "replay", found))


def replay(stored: StoredTrial, *, seed: int = 0) -> Measurement:
    """Builds, checks and times the trial again on this machine."""
    codebook = codebook_of(stored)
    kernel = codebook.kernel(stored.trial.candidate)
    setup = Setup(stored.target, find_toolchain(stored.target, _command(stored)))
    check = make_check(codebook.workload, np.random.default_rng(seed))
    with open_machine(setup, seed=seed) as machine:
        build = machine.builder.build([kernel])[0]
        if build.artefact is None:
            found = Measurement(build.outcome, error=build.error, log=build.log)
        else:
            policy = TimingPolicy(threads=stored.target.threads)
            found = machine.runner.measure(build.artefact, check, policy)
        return replace(found, build_seconds=build.build_seconds, source_digest=kernel.digest)


def _command(stored: StoredTrial) -> str | None:
    """The compiler's program as it was named then; None lets this machine choose."""
    command = stored.toolchain.get("command") or []
    return str(command[0]) if len(command) == 1 else None
