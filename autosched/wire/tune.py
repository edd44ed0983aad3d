"""The report of a tuning job: what `autosched tune --json` prints and the service shows of a job's tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

from autosched.wire.number import Number, microseconds

if TYPE_CHECKING:  # clients read documents without the searches behind them
    from autosched.tuning.report import Report, TaskReport


class TaskDocument(BaseModel):
    """One task; `outcomes` sum to `trials` and the pruned ones; `trial` is the winner's id."""

    name: str
    workload_key: str
    weight: int
    trials: int
    outcomes: dict[str, int]
    default_us: Number
    best_us: Number
    spread_us: Number
    gflops: Number
    roofline: Number
    trial: str | None


class PhaseDocument(BaseModel):
    """Seconds of each phase; they sum to the wall time."""

    search: float
    build: float
    run: float
    model: float
    other: float


class TuneDocument(BaseModel):
    """A whole job. `target` and `toolchain` are content keys; `estimated_graph_us` is the sum of the kernels by weight,
    without what a model pays between them; `interrupted`: the same command goes on with it."""

    job: str
    target: str
    toolchain: str
    threads: int
    seed: int
    history_used: int
    tasks: list[TaskDocument]
    wall_s: float
    phase_s: PhaseDocument
    estimated_graph_us: Number
    interrupted: bool


def task_document(task: TaskReport) -> TaskDocument:
    return TaskDocument(
        name=task.name,
        workload_key=task.workload_key,
        weight=task.weight,
        trials=task.trials,
        outcomes={outcome.value: n for outcome, n in task.outcomes.items()},
        default_us=microseconds(task.default_seconds),
        best_us=microseconds(task.best_seconds),
        spread_us=microseconds(task.spread_seconds),
        gflops=task.gflops,
        roofline=task.roofline,
        trial=task.best_trial,
    )


def tune_document(report: Report) -> TuneDocument:
    return TuneDocument(
        job=report.job_id,
        target=report.target_key,
        toolchain=report.toolchain_key,
        threads=report.threads,
        seed=report.seed,
        history_used=report.history_used,
        tasks=[task_document(t) for t in report.tasks],
        wall_s=report.wall_seconds,
        phase_s=PhaseDocument.model_validate(report.phase_seconds),
        estimated_graph_us=microseconds(report.estimated_graph_seconds),
        interrupted=report.interrupted,
    )
