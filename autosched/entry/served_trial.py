"""One trial of a service, in the form that trials of this machine's database have."""

from __future__ import annotations

from typing import get_args

from autosched.client import Client
from autosched.entry.trial import StoredTrial
from autosched.errors import InvalidInput
from autosched.records.outcome import Outcome
from autosched.records.record import Candidate, Measurement, Purpose, Timing, Trial
from autosched.records.store import MeasurementRow, TaskSpec
from autosched.target.files import target_of_fields
from autosched.wire.number import seconds
from autosched.wire.trial import MeasurementDocument, TimingDocument, TrialDetail


def served_trial(client: Client, trial_id: str) -> StoredTrial:
    """NotThere: no such trial, or one of another owner's job. InvalidInput: of a version that this one cannot read."""
    detail = client.trial(trial_id)
    job = client.job(detail.job)
    task = TaskSpec(detail.name, detail.workload_key, detail.workload_text, detail.weight)
    target = target_of_fields(detail.target, detail.target_key)
    toolchain = detail.toolchain.model_dump()
    runs = tuple(_run(detail.id, m) for m in detail.measurements)
    return StoredTrial(_trial(detail), job.source, job.seed, task, target, toolchain, runs)


def _trial(detail: TrialDetail) -> Trial:
    candidate = Candidate(tuple(detail.derivation), detail.values, detail.candidate_key)
    measured = None
    if detail.outcome is not None:
        measured = Measurement(
            _outcome(detail.outcome),
            _timing(detail.timing),
            detail.error,
            max_error=detail.max_error,
            device=detail.device,
        )
    return Trial(
        detail.task,
        detail.number,
        detail.round,
        candidate,
        attempt=detail.attempt,
        measurement=measured,
        space_version=detail.space_version,
        reused_from=detail.reused_from or "",
    )


def _run(trial_id: str, run: MeasurementDocument) -> MeasurementRow:
    measured = Measurement(
        _outcome(run.outcome),
        _timing(run.timing),
        run.error,
        run.log,
        build_seconds=run.build_s or 0.0,
        run_seconds=run.run_s or 0.0,
        source_digest=run.source_digest,
        max_error=run.max_error,
        early_stopped=run.early_stopped,
        device=str(run.environment.get("device", "")),
    )
    return MeasurementRow(trial_id, _purpose(run.purpose), measured)


def _timing(timing: TimingDocument | None) -> Timing | None:
    """None where the median is no number."""
    median = None if timing is None else seconds(timing.median_us)
    if timing is None or median is None:
        return None
    return Timing(
        median,
        seconds(timing.spread_us) or 0.0,
        timing.n_samples,
        timing.contended_share,
        timing.threads,
        "cold" if timing.mode == "cold" else "warm",
    )


def _outcome(word: str) -> Outcome:
    try:
        return Outcome(word)
    except ValueError:
        raise InvalidInput(f"outcome {word!r} is of a later version of the service") from None


def _purpose(word: str) -> Purpose:
    found = next((p for p in get_args(Purpose) if p == word), None)
    if found is None:
        raise InvalidInput(f"purpose {word!r} is of a later version of the service")
    purpose: Purpose = found
    return purpose
