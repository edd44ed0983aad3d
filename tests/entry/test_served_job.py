"""Watching a job that stands still: whoever watches hears why, once until it changes."""

from __future__ import annotations

from typing import Any

from autosched.entry.served_job import watch
from autosched.tuning.events import Event, Notice
from autosched.wire.job import JobDocument
from tests.client.scripted import JOB, Answer, Asked, Clock, client_of, events, problem, serving
from tests.client.scripted import answer as answer_of

RUNNING = {**JOB, "state": "running", "terminal": False, "ended_at": None, "end_reason": None}
GONE = "no live worker since 2026-01-31T12:00:00Z: need target t1-5f0c, have none"
OTHER = "no live worker since 2026-01-31T12:00:00Z: need target t1-5f0c, have t1-aa"


def waiting(why: str | None) -> Answer:
    return answer_of({**RUNNING, "pending_reason": why})


def notices(first: dict[str, Any], standings: list[Answer]) -> list[str]:
    """What is said of a job whose service says before its end, once for each standing, that there is no event."""
    streams = [*[events() for _ in standings], events((1, "end", {"state": "succeeded"}))]
    answers = [*standings, answer_of(JOB)]
    heard: list[Event] = []

    def handle(asked: Asked) -> Answer:
        return (streams if asked.path.endswith("/events") else answers).pop(0)

    with serving() as server, client_of(server.url, Clock()) as client:
        server.handle = handle
        ended, _ = watch(client, JobDocument.model_validate(first), heard.append)
    assert ended.state == "succeeded"
    assert answers == []
    return [e.message for e in heard if isinstance(e, Notice)]


def test_a_job_without_a_worker_says_so_until_it_changes() -> None:
    standings = [waiting(w) for w in (None, GONE, GONE, OTHER, None, GONE)]
    said = [f"waiting: {w}" for w in (GONE, OTHER, GONE)]
    assert notices(RUNNING, standings) == said


def test_what_a_job_waits_for_from_the_start_is_said_once() -> None:
    for state in ("queued", "running"):
        job = {**RUNNING, "state": state, "pending_reason": GONE}
        assert notices(job, [waiting(GONE)]) == [f"waiting: {GONE}"]


def test_a_service_that_does_not_say_why_is_watched_all_the_same() -> None:
    assert notices(RUNNING, [problem(404, "not now"), waiting(GONE)]) == [f"waiting: {GONE}"]
