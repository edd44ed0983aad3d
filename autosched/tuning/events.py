"""What happens in a job while it runs, as frozen records; whoever shows progress listens, the loop never prints.

Times are seconds a call. A listener must return quickly and must not raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from autosched.records.outcome import Outcome


@dataclass(frozen=True)
class JobStarted:
    """`trials`: the budget; `done`: how many of it earlier runs of the same command finished."""

    job_id: str
    tasks: tuple[str, ...]
    trials: int
    done: int
    history_used: int


@dataclass(frozen=True)
class RoundProposed:
    """`n` candidates of `task` have been committed and go to the compiler."""

    task: str
    round: int
    n: int


@dataclass(frozen=True)
class TrialFinished:
    """`best_seconds`: the fastest of the task so far, confirmed or not."""

    task: str
    number: int
    outcome: Outcome
    median_seconds: float | None
    best_seconds: float | None
    error: str = ""


@dataclass(frozen=True)
class TaskConfirmed:
    """A side-by-side run has ended: what trial 0 and the winner took in it."""

    task: str
    winner: str
    default_seconds: float
    best_seconds: float


@dataclass(frozen=True)
class JobStanding:
    """Where a job stands as a whole, from afar: `done` of `trials` are spent; `task` is the one that was measured last
    and `best_seconds` its fastest kernel. `phase` says in words what is going on, where no trial tells."""

    trials: int
    done: int
    outcomes: Mapping[Outcome, int] = field(default_factory=dict)
    task: str = ""
    best_seconds: float | None = None
    phase: str = ""


@dataclass(frozen=True)
class Notice:
    """Something a person should know: a policy without its model, a confirmation that failed."""

    message: str


@dataclass(frozen=True)
class JobEnded:
    job_id: str
    state: str
    reason: str


Event = JobStarted | RoundProposed | TrialFinished | TaskConfirmed | JobStanding | Notice | JobEnded
Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """The listener of those who do not listen."""
