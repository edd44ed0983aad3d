"""What a job has brought, as plain values: per task the default, the winner and the share of the roofline.

Times are seconds a call. `roofline` is the bound over the winner's time: 1 means that the machine allows no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from autosched.records.outcome import Outcome
from autosched.records.record import Timing
from autosched.records.store import Job
from autosched.tuning import progress
from autosched.tuning.loop import LoopEnd
from autosched.tuning.phases import Phase
from autosched.tuning.task import Subject, Task

Bound = Callable[[Subject], float]
"""Least seconds a workload can take on the target."""


@dataclass(frozen=True)
class TaskReport:
    """`default_seconds` and `best_seconds` come from one interleaved run; None without a valid kernel. `outcomes`
    sum to `trials` and the pruned ones; the default is beyond both."""

    name: str
    workload_key: str
    weight: int
    trials: int
    outcomes: Mapping[Outcome, int]
    default_seconds: float | None
    best_seconds: float | None
    spread_seconds: float | None
    best_trial: str | None
    operations: float
    bound_seconds: float | None

    @property
    def gflops(self) -> float | None:
        return None if self.best_seconds is None else self.operations / self.best_seconds / 1e9

    @property
    def roofline(self) -> float | None:
        if self.best_seconds is None or self.bound_seconds is None:
            return None
        return self.bound_seconds / self.best_seconds

    @property
    def speedup(self) -> float | None:
        if self.best_seconds is None or self.default_seconds is None:
            return None
        return self.default_seconds / self.best_seconds


@dataclass(frozen=True)
class Report:
    """`phase_seconds` sum to `wall_seconds`. `end` is None where the job was interrupted, to be gone on with."""

    job_id: str
    target_key: str
    toolchain_key: str
    threads: int
    seed: int
    history_used: int
    tasks: tuple[TaskReport, ...]
    wall_seconds: float
    phase_seconds: Mapping[Phase, float]
    end: LoopEnd | None

    @property
    def interrupted(self) -> bool:
        return self.end is None

    @property
    def estimated_graph_seconds(self) -> float | None:
        """Sum of the winners by weight; None while a task has none."""
        return _weighted(self.tasks, [t.best_seconds for t in self.tasks])

    @property
    def estimated_default_seconds(self) -> float | None:
        return _weighted(self.tasks, [t.default_seconds for t in self.tasks])

    @property
    def failed_tasks(self) -> tuple[str, ...]:
        """Tasks without a valid, confirmed kernel."""
        return tuple(t.name for t in self.tasks if t.best_seconds is None)


def _weighted(tasks: Sequence[TaskReport], seconds: Sequence[float | None]) -> float | None:
    total = 0.0
    for task, one in zip(tasks, seconds, strict=True):
        if one is None:
            return None
        total += task.weight * one
    return total


def task_report(task: Task, bound: Bound) -> TaskReport:
    """The report of one task as it stands."""
    default_seconds, best, trial = _stand(task)
    return TaskReport(
        name=task.subject.name,
        workload_key=task.codebook.workload.key,
        weight=task.subject.weight,
        trials=progress.finished(task.trials.values()),
        outcomes=progress.outcomes(task.trials.values()),
        default_seconds=default_seconds,
        best_seconds=best.median_seconds if best else None,
        spread_seconds=best.spread_seconds if best else None,
        best_trial=trial,
        operations=task.subject.operations,
        bound_seconds=bound(task.subject),
    )


def _stand(task: Task) -> tuple[float | None, Timing | None, str | None]:
    """Default seconds, the winner's timing and trial of the last side-by-side run; of an earlier run of this job where
    this one was ended before it had its own."""
    if task.confirmed is not None:
        default = task.confirmed.default
        seconds = default.median_seconds if default else None
        return seconds, task.confirmed.best, task.confirmed.winner
    if task.standing is not None:
        return task.standing.default_seconds, task.standing.timing, task.standing.trial_id
    return None, None, None


def job_report(
    job: Job,
    tasks: Sequence[Task],
    bound: Bound,
    phase_seconds: Mapping[Phase, float],
    *,
    end: LoopEnd | None,
) -> Report:
    """The report of a job."""
    return Report(
        job_id=job.id,
        target_key=job.spec.target_key,
        toolchain_key=job.spec.toolchain_key,
        threads=job.spec.threads,
        seed=job.spec.seed,
        history_used=len(job.history),
        tasks=tuple(task_report(t, bound) for t in tasks),
        wall_seconds=sum(phase_seconds.values()),
        phase_seconds=dict(phase_seconds),
        end=end,
    )
