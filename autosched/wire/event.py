"""What happens in a job while one follows it: the data of the events of `/v1/jobs/{id}/events`.

    id: 7
    event: best
    data: {"job": "...", "at": "2026-01-31T12:00:00.000000Z", "task": "Conv 1x64x56x56 n4", "best_us": 91.5, ...}

Whoever writes an event gives the fields of its own; `job` and `at` are those of the row. More types and fields may come.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from autosched.jobs.record import EventType
from autosched.wire.job import EndWord, Outcomes, State
from autosched.wire.key import Key, Time
from autosched.wire.number import Number
from autosched.wire.tune import PhaseDocument, TaskDocument


class Stamped(BaseModel):
    """What every event has: its job, and when it was written."""

    job: Key | None = None
    at: Time | None = None


class JobData(Stamped):
    """`job`: its state changed, there is something that a person should know (`message`), or one of the processes that
    carry the job has ended its part (`phase_s`: where its time went)."""

    state: State
    message: str = ""
    phase_s: PhaseDocument | None = None


class TaskData(Stamped, TaskDocument):
    """`task`: a task as it stands now."""


class ProgressData(Stamped):
    """`progress`, at most two a second: `trials` of the budget of `of` are spent; `task` names the task of the last
    trial and `task_best_us` its fastest kernel so far, confirmed or not; `error` says why that trial failed."""

    trials: int
    of: int
    outcomes: Outcomes = {}
    task: str = ""
    task_best_us: Number = None
    error: str = ""


class BestData(Stamped):
    """`best`: a side-by-side run of a task has ended; the times are of that run."""

    task: str
    workload_key: str = ""
    trial: str
    default_us: Number
    best_us: Number


class EndData(Stamped):
    """`end`: the last event of a job, until it is resumed. `error` says what went wrong, where something did."""

    state: State
    end_reason: EndWord | None = None
    error: str = ""


EVENT_DATA: Mapping[EventType, type[Stamped]] = {
    "job": JobData,
    "task": TaskData,
    "progress": ProgressData,
    "best": BestData,
    "end": EndData,
}
"""Type of an event -> the form of its data."""

RESET = "reset"
"""The event that tells a client that what it missed is gone: it reads the job afresh."""
