"""A submitted job as its owner sees it: what `/v1/jobs` answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field

from autosched.jobs.record import EndReason, Failure, Submitted, TaskStanding
from autosched.records.outcome import Outcome
from autosched.records.store import JobState
from autosched.wire.key import Key, Time, words
from autosched.wire.number import Number, microseconds
from autosched.wire.tune import TaskDocument

State = Annotated[str, words(get_args(JobState))]
EndWord = Annotated[str, words([r for r in get_args(EndReason) if r])]
OutcomeWord = Annotated[str, words([o.value for o in Outcome])]
Outcomes = dict[str, int]
"""How many trials came to each outcome."""

EXAMPLE_JOB: dict[str, Any] = {
    "id": "019a7c1e-7b1a-7cc3-9d6e-0f6a5b4c3d2e",
    "state": "running",
    "terminal": False,
    "end_reason": None,
    "error": None,
    "pending_reason": None,
    "owner": "vision",
    "labels": {"team": "vision"},
    "source": "suite:C2D/3@1",
    "target_key": "t1-5f0c8a5de3b94d1fb0a1c2d3e4f50617",
    "toolchain_key": "c1-0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "threads": 2,
    "seed": 0,
    "policy": "evolutionary",
    "priority": 0,
    "history_used": 12,
    "budget": {"trials": 64, "seconds": None},
    "trials": 17,
    "outcomes": {"ok": 16, "compile_deadline": 1},
    "failures": [],
    "tasks": [],
    "created_at": "2026-01-31T12:00:00.000000Z",
    "started_at": "2026-01-31T12:00:01.250000Z",
    "ended_at": None,
}


class BudgetDocument(BaseModel):
    """Totals over all tasks: `trials`, and `seconds` on devices."""

    trials: int
    seconds: Number = None


class FailureDocument(BaseModel):
    """Trials that failed alike: `class` is the first line of their error, `log` that of one of them."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    outcome: OutcomeWord
    kind: Annotated[str, Field(alias="class")]
    count: int
    example_trial: str
    log: str


class JobDocument(BaseModel):
    """One job. `trials` of the budget are spent, every outcome but `pruned`; `outcomes` count the pruned ones too, the
    defaults are beyond both. `error` says what went wrong, where something did. `failures` stand in the answer about one job alone."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE_JOB]})

    id: Key
    state: State
    terminal: bool
    end_reason: EndWord | None = None
    error: str | None = None
    pending_reason: str | None = None
    owner: str
    labels: dict[str, str] = {}
    source: str = ""
    target_key: Key
    toolchain_key: Key
    threads: int
    seed: int
    policy: str = ""
    priority: int = 0
    history_used: int = 0
    budget: BudgetDocument
    trials: int
    outcomes: Outcomes
    failures: list[FailureDocument] = []
    tasks: list[TaskDocument]
    created_at: Time
    started_at: Time | None = None
    ended_at: Time | None = None


def job_document(
    submitted: Submitted,
    standings: Sequence[TaskStanding],
    failures: Sequence[Failure] = (),
    pending_reason: str | None = None,
) -> JobDocument:
    """The job with what its trials say."""
    job = submitted.job
    outcomes = sum((Counter(s.outcomes) for s in standings), Counter[Outcome]())
    assert job.created_at is not None, "a stored job has its time"
    return JobDocument(
        id=job.id,
        state=job.state,
        terminal=submitted.is_terminal,
        end_reason=job.end_reason or None,
        error=submitted.error or None,
        pending_reason=pending_reason,
        owner=submitted.owner,
        labels=dict(submitted.labels),
        source=job.spec.source,
        target_key=job.spec.target_key,
        toolchain_key=job.spec.toolchain_key,
        threads=job.spec.threads,
        seed=job.spec.seed,
        policy=submitted.policy,
        priority=submitted.priority,
        history_used=len(job.history),
        budget=BudgetDocument(trials=job.spec.trials, seconds=submitted.seconds),
        trials=_spent(outcomes),
        outcomes=_by_name(outcomes),
        failures=[failure_document(f) for f in failures],
        tasks=[standing_document(s) for s in standings],
        created_at=job.created_at,
        started_at=submitted.started_at,
        ended_at=job.ended_at,
    )


def standing_document(standing: TaskStanding) -> TaskDocument:
    """A task as `tune --json` shows it, from what the database knows of it."""
    best = None if standing.best is None else standing.best.median_seconds
    spread = None if standing.best is None else standing.best.spread_seconds
    outcomes = Counter(standing.outcomes)
    return TaskDocument(
        name=standing.spec.name,
        workload_key=standing.spec.workload_key,
        weight=standing.spec.weight,
        trials=_spent(outcomes),
        outcomes=_by_name(outcomes),
        default_us=microseconds(standing.default_seconds),
        best_us=microseconds(best),
        spread_us=microseconds(spread),
        gflops=_ratio(standing.operations, best, 1e-9),
        roofline=_ratio(standing.bound_seconds, best, 1.0),
        trial=standing.trial,
    )


def failure_document(failure: Failure) -> FailureDocument:
    return FailureDocument(
        outcome=failure.outcome.value,
        kind=failure.kind,
        count=failure.count,
        example_trial=failure.example_trial,
        log=failure.log,
    )


def _spent(outcomes: Counter[Outcome]) -> int:
    return sum(n for outcome, n in outcomes.items() if outcome is not Outcome.PRUNED)


def _by_name(outcomes: Counter[Outcome]) -> Outcomes:
    return {outcome.value: n for outcome, n in outcomes.items()}


def _ratio(above: float | None, below: float | None, scale: float) -> float | None:
    return None if above is None or not below else above / below * scale
