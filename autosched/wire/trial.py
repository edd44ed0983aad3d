"""One trial: what `/v1/jobs/{id}/trials` lists and `/v1/trials/{id}` answers, enough to build and run it elsewhere."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from pydantic import BaseModel

from autosched.records.record import Mode, Purpose, Timing, Trial, job_id_of
from autosched.records.store import MeasurementRow, TaskSpec
from autosched.wire.job import OutcomeWord
from autosched.wire.key import Key, words
from autosched.wire.number import Number, microseconds

ModeWord = Annotated[str, words(get_args(Mode))]
PurposeWord = Annotated[str, words(get_args(Purpose))]


class TimingDocument(BaseModel):
    """Samples of one kernel. `contended_share`: dropped for other load, over all; `spread_us`: interquartile range."""

    median_us: Number
    spread_us: Number
    n_samples: int
    contended_share: float
    threads: int
    mode: ModeWord


class MeasurementDocument(BaseModel):
    """One run of a trial."""

    purpose: PurposeWord
    outcome: OutcomeWord
    timing: TimingDocument | None = None
    error: str = ""
    log: str = ""
    build_s: Number = None
    run_s: Number = None
    source_digest: str = ""
    max_error: Number = None
    early_stopped: bool = False
    environment: dict[str, Any] = {}


class TrialDocument(BaseModel):
    """A row of a job. Number 0 is the default schedule; an open trial has no outcome yet. `device`: where it ran, as
    "HOST/NAME"; "" where it did not. `reused_from` names the trial of another task that measured this very candidate."""

    id: Key
    job: Key
    task: Key
    number: int
    round: int
    attempt: int
    open: bool
    candidate_key: Key
    derivation: list[dict[str, Any]]
    values: dict[str, int]
    space_version: str = ""
    reused_from: str | None = None
    outcome: OutcomeWord | None = None
    timing: TimingDocument | None = None
    device: str = ""
    error: str = ""
    max_error: Number = None


class ToolchainDocument(BaseModel):
    """A compiler as it is keyed; where its program lies is no part of it."""

    key: Key
    name: str = ""
    version: str = ""
    flags: list[str] = []


class TrialDetail(TrialDocument):
    """A trial with everything around it: its task, the fields of target and toolchain, and all its runs."""

    name: str
    workload_key: Key
    workload_text: str
    weight: int
    target_key: Key
    target: dict[str, Any]
    toolchain: ToolchainDocument
    measurements: list[MeasurementDocument]


def timing_document(timing: Timing | None) -> TimingDocument | None:
    if timing is None:
        return None
    return TimingDocument(
        median_us=microseconds(timing.median_seconds),
        spread_us=microseconds(timing.spread_seconds),
        n_samples=timing.n_samples,
        contended_share=timing.contended_share,
        threads=timing.threads,
        mode=timing.mode,
    )


def trial_document(trial: Trial) -> TrialDocument:
    measured = trial.measurement
    return TrialDocument(
        id=trial.id,
        job=job_id_of(trial.task_id),
        task=trial.task_id,
        number=trial.number,
        round=trial.round,
        attempt=trial.attempt,
        open=trial.is_open,
        candidate_key=trial.candidate.key,
        derivation=[dict(step) for step in trial.candidate.derivation],
        values=dict(trial.candidate.values),
        space_version=trial.space_version,
        reused_from=trial.reused_from or None,
        outcome=None if measured is None else measured.outcome.value,
        timing=None if measured is None else timing_document(measured.timing),
        device="" if measured is None else measured.device,
        error="" if measured is None else measured.error,
        max_error=None if measured is None else measured.max_error,
    )


def measurement_document(row: MeasurementRow) -> MeasurementDocument:
    found = row.measurement
    return MeasurementDocument(
        purpose=row.purpose,
        outcome=found.outcome.value,
        timing=timing_document(found.timing),
        error=found.error,
        log=found.log,
        build_s=found.build_seconds,
        run_s=found.run_seconds,
        source_digest=found.source_digest,
        max_error=found.max_error,
        early_stopped=found.early_stopped,
        environment=dict(row.environment),
    )


def toolchain_document(key: str, fields: dict[str, Any]) -> ToolchainDocument:
    return ToolchainDocument(
        key=key,
        name=str(fields.get("name", "")),
        version=str(fields.get("version", "")),
        flags=[str(f) for f in fields.get("flags", ())],
    )


def trial_detail(
    trial: Trial,
    task: TaskSpec,
    target: tuple[str, dict[str, Any]],
    toolchain: ToolchainDocument,
    measurements: tuple[MeasurementRow, ...],
) -> TrialDetail:
    """`target`: key and fields."""
    return TrialDetail(
        **trial_document(trial).model_dump(),
        name=task.name,
        workload_key=task.workload_key,
        workload_text=task.workload_text,
        weight=task.weight,
        target_key=target[0],
        target=target[1],
        toolchain=toolchain,
        measurements=[measurement_document(m) for m in measurements],
    )
