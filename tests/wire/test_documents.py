"""The documents of the service: what requests refuse, and how answers look on the wire."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import TypeAdapter, ValidationError

from autosched.jobs.record import Submitted, TaskStanding
from autosched.records.outcome import Outcome
from autosched.records.record import Timing
from autosched.records.store import Job, JobSpec, TaskSpec
from autosched.wire.best import BestRequest
from autosched.wire.event import EVENT_DATA
from autosched.wire.job import EXAMPLE_JOB, FailureDocument, JobDocument, job_document
from autosched.wire.key import Key, Time
from autosched.wire.problem import PROBLEMS, problem_document
from autosched.wire.submission import JobRequest

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("body", "pointer", "rule"),
    [
        ('{"trials": 0}', ("trials",), "greater_than_equal"),
        ('{"trials": "8"}', ("trials",), "int_type"),
        ('{"trials": true}', ("trials",), "int_type"),
        ('{"trials": 8, "budget": 1}', ("budget",), "extra_forbidden"),
        ('{"trials": 8, "seconds": NaN}', ("seconds",), "finite_number"),
        ('{"trials": 8, "seconds": 0}', ("seconds",), "greater_than"),
        ('{"trials": 8, "target": "../etc"}', ("target",), "string_pattern_mismatch"),
        ('{"trials": 8, "source": "a", "graph": {}}', (), "value_error"),
        ('{"source": "suite:*"}', ("trials",), "missing"),
    ],
)
def test_a_request_names_what_it_refuses(body: str, pointer: tuple[str, ...], rule: str) -> None:
    with pytest.raises(ValidationError) as raised:
        JobRequest.model_validate_json(body)
    found = raised.value.errors()[0]
    assert (found["loc"], found["type"]) == (pointer, rule)


@pytest.mark.parametrize("body", ["{}", '{"source": "a", "workloads": ["w1-0"]}'])
def test_winners_are_asked_for_in_one_way(body: str) -> None:
    with pytest.raises(ValidationError, match="exactly one"):
        BestRequest.model_validate_json(body)


def test_a_key_is_safe_in_a_url() -> None:
    keys: TypeAdapter[str] = TypeAdapter(Key)
    assert keys.validate_python("w1-0a.B_~9") == "w1-0a.B_~9"
    for bad in ("", "a/b", "a b", "a\n", "x" * 81):
        with pytest.raises(ValidationError):
            keys.validate_python(bad)


def test_times_are_utc() -> None:
    times: TypeAdapter[datetime] = TypeAdapter(Time)
    elsewhere = NOW.astimezone(timezone(timedelta(hours=2)))
    for moment in (NOW, elsewhere, NOW.replace(tzinfo=None)):
        written = times.dump_json(times.validate_python(moment))
        assert json.loads(written) == "2026-01-31T12:00:00.000000Z"


def _submitted(state: str = "running") -> Submitted:
    spec = JobSpec("suite:C2D/3@1", "g1-0", "t1-0", 2, "c1-0", 0, 64)
    task = TaskSpec("conv", "w1-0", "", 1)
    job = Job("j", spec, state, (("j.0", task),), created_at=NOW)  # type: ignore[arg-type]
    return Submitted(job, "vision", None, "evolutionary", 0, {}, 1, NOW, None, False)


def _standing(seconds: float | None) -> TaskStanding:
    best = None if seconds is None else Timing(seconds, 1e-6, 9, 0.0, 2)
    outcomes = {Outcome.OK: 3, Outcome.PRUNED: 2, Outcome.CRASHED: 1}
    return TaskStanding(
        "j.0", TaskSpec("conv", "w1-0", "", 1), outcomes, 0, 2e-6, best, None, 1e6, 5e-7
    )


def test_a_job_counts_what_its_tasks_brought() -> None:
    document = job_document(_submitted(), [_standing(1e-6), _standing(None)])
    assert document.trials == 8
    assert document.outcomes == {"ok": 6, "pruned": 4, "crashed": 2}
    first, second = document.tasks
    assert (first.best_us, first.gflops, first.roofline) == pytest.approx((1.0, 1000.0, 0.5))
    assert (second.best_us, second.gflops, second.roofline) == (None, None, None)
    assert document.end_reason is None


def test_a_time_that_is_not_finite_is_null() -> None:
    document = job_document(_submitted(), [_standing(math.inf)])
    assert json.loads(document.model_dump_json())["tasks"][0]["best_us"] is None


def test_the_example_is_a_job() -> None:
    assert JobDocument.model_validate(EXAMPLE_JOB).model_dump(mode="json") == EXAMPLE_JOB


def test_a_reader_bears_with_what_is_newer() -> None:
    newer = {**EXAMPLE_JOB, "state": "paused", "mood": "good"}
    assert JobDocument.model_validate(newer).state == "paused"


def test_a_class_of_failures_is_called_class() -> None:
    document = FailureDocument(
        outcome="crashed", kind="SIGSEGV", count=1, example_trial="j", log=""
    )
    assert json.loads(document.model_dump_json(by_alias=True))["class"] == "SIGSEGV"


def test_every_problem_says_its_status() -> None:
    for name, kind in PROBLEMS.items():
        document = problem_document(name, "why")
        assert document.status == kind.status
        assert document.type.endswith(name)


def test_every_event_has_a_form() -> None:
    assert set(EVENT_DATA) == {"job", "task", "progress", "best", "end"}
