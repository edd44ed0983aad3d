"""Candidates, measurements and trials: plain values, JSON both ways, no behaviour."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from autosched.records.outcome import Outcome

Mode = Literal["warm", "cold"]
"""Of the caches when a kernel is timed."""

Purpose = Literal["search", "confirm", "replay"]
"""What a measurement was made for."""

Setting = tuple[str, str, str]
"""Workload, target and toolchain key: what a candidate's result holds for."""


@dataclass(frozen=True)
class Candidate:
    """A sketch and a value for each decision: `derivation` is a list of steps, `values` maps names to ints; both
    replayable from the database for ever. `key` is the digest of the concrete nest, so that the same code has one key
    under any name; two candidates with one key are the same candidate."""

    derivation: tuple[Mapping[str, Any], ...]
    values: Mapping[str, int]
    key: str

    @property
    def structure_key(self) -> str:
        """Digest of the derivation alone: which sketch this is."""
        text = json.dumps([dict(s) for s in self.derivation], sort_keys=True)
        return f"s1-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


@dataclass(frozen=True)
class Timing:
    """Samples of one kernel, in seconds a call. `contended_share`: samples dropped for context switches or stolen
    time over all samples. `spread_seconds` is the interquartile range of the kept samples."""

    median_seconds: float
    spread_seconds: float
    n_samples: int
    contended_share: float
    threads: int
    mode: Mode = "warm"


def task_id_of(job_id: str, position: int) -> str:
    """The id of a job's task at a position, from 0 on: `<job id>.<position>`, safe in a URL."""
    return f"{job_id}.{position}"


def job_id_of(task_id: str) -> str:
    """The job that a task belongs to."""
    return task_id.rpartition(".")[0]


def trial_id(task_id: str, number: int) -> str:
    """The id of a trial, from its key: `<task id>.<number>`, safe in a URL."""
    return f"{task_id}.{number}"


MOST_DIGITS = 10
"""Of a trial's number: the integers of every store hold as many."""


def split_trial_id(text: str) -> tuple[str, int] | None:
    """Task id and number of what may be a trial id; None if it is none."""
    task_id, _, number = text.rpartition(".")
    is_number = number.isdecimal() and len(number) <= MOST_DIGITS
    return (task_id, int(number)) if task_id and is_number else None


@dataclass(frozen=True)
class Measurement:
    """Outcome of building, checking and timing one candidate once. `timing` is there if and only if outcome is ok (or
    unstable). `error` is one paragraph for a person; `log` the tail of compiler or signal text; `device` where it ran,
    "HOST/NAME", empty where nothing did."""

    outcome: Outcome
    timing: Timing | None = None
    error: str = ""
    log: str = ""
    build_seconds: float = 0.0
    run_seconds: float = 0.0
    source_digest: str = ""
    max_error: float | None = None
    early_stopped: bool = False
    device: str = ""


@dataclass(frozen=True)
class Trial:
    """One row of a task: number 0 is the default schedule, then 1 up to the budget. A trial without a measurement is
    open: proposed and committed, not finished. `round` groups the trials proposed together. `features` follow the
    feature table of `features_schema`. `reused_from` is the trial of another task that measured this candidate on the
    same target with the same toolchain; the measurement is then that trial's."""

    task_id: str
    number: int
    round: int
    candidate: Candidate
    attempt: int = 1
    measurement: Measurement | None = None
    features: tuple[float, ...] = field(default=(), repr=False)
    features_schema: str = ""
    space_version: str = ""
    reused_from: str = ""

    @property
    def id(self) -> str:
        return trial_id(self.task_id, self.number)

    @property
    def is_open(self) -> bool:
        return self.measurement is None
