"""Following a job: over broken connections, in order, each event once."""

from __future__ import annotations

import asyncio

import pytest

from autosched.client import AsyncClient, NotThere, Patience, ServiceAway
from autosched.client.events import Event, Feed
from tests.client.scripted import (
    DROP,
    JOB,
    Answer,
    Asked,
    Clock,
    Scripted,
    answer,
    client_of,
    events,
    problem,
)

PROGRESS = {"trials": 1, "of": 4}


def test_events_come_once_over_connections_that_break(server: Scripted, clock: Clock) -> None:
    server.script = [
        events((1, "job", {"state": "queued"}), (2, "progress", PROGRESS), cut=True),
        DROP,
        problem(503, "restarting"),
        events((2, "progress", PROGRESS), (3, "best", {"task": "n0"}), cut=True, tail=b"id: 4\nev"),
        events((4, "end", {"state": "succeeded"})),
    ]
    with client_of(server.url, clock) as client:
        seen = list(client.events("a"))
    assert [e.number for e in seen] == [1, 2, 3, 4]
    assert [e.type for e in seen] == ["job", "progress", "best", "end"]
    assert [a.headers["last-event-id"] for a in server.asked] == ["0", "2", "2", "2", "3"]
    assert len(clock.slept) == 4


def test_an_event_that_comes_starts_the_waits_anew(server: Scripted, clock: Clock) -> None:
    server.script = [
        DROP,
        DROP,
        events((1, "job", {}), cut=True),
        events((2, "end", {})),
    ]
    with client_of(server.url, clock, Patience(first_wait=1.0)) as client:
        list(client.events("a"))
    assert clock.slept == [1.0, 2.0, 1.0]


def test_following_goes_on_after_a_number(server: Scripted, clock: Clock) -> None:
    server.script = [events((8, "end", {}))]
    with client_of(server.url, clock) as client:
        assert [e.number for e in client.events("a", after=7)] == [8]
    assert server.asked[0].headers["last-event-id"] == "7"


def test_a_job_that_has_told_everything_is_not_waited_for(server: Scripted, clock: Clock) -> None:
    server.script = [Answer(204, b"")]
    with client_of(server.url, clock) as client:
        assert list(client.events("a", after=9)) == []
    assert len(server.asked) == 1


def test_a_stream_that_is_closed_before_the_end_is_opened_again(
    server: Scripted, clock: Clock
) -> None:
    server.script = [events((1, "job", {})), events(), events((2, "end", {}))]
    with client_of(server.url, clock) as client:
        assert [e.type for e in client.events("a")] == ["job", "end"]


def test_the_end_before_a_job_was_resumed_is_not_its_last(server: Scripted, clock: Clock) -> None:
    server.script = [
        events((1, "end", {}), (2, "job", {}), cut=True),
        events((3, "progress", PROGRESS), (4, "end", {}), cut=True),
        Answer(204, b""),
    ]
    with client_of(server.url, clock) as client:
        assert [e.number for e in client.events("a")] == [1, 2, 3, 4]


def test_events_that_are_gone_are_told_and_not_waited_for(server: Scripted, clock: Clock) -> None:
    server.script = [events((40, "reset", {}), (41, "progress", PROGRESS), (42, "end", {}))]
    with client_of(server.url, clock) as client:
        assert [e.type for e in client.events("a", after=3)] == ["reset", "progress", "end"]


def test_a_refused_stream_is_an_error_at_once(server: Scripted, clock: Clock) -> None:
    server.script = [problem(404, "there is no job a")]
    with client_of(server.url, clock) as client, pytest.raises(NotThere, match="no job a"):
        list(client.events("a"))
    assert clock.slept == []


def test_a_service_that_stays_away_ends_the_following(server: Scripted, clock: Clock) -> None:
    server.script = [events((1, "job", {}), cut=True), DROP]
    with client_of(server.url, clock, Patience(follow=30.0)) as client:
        following = client.events("a")
        assert next(following).number == 1
        with pytest.raises(ServiceAway, match="tried"):
            next(following)
    assert sum(clock.slept) < 30.0


def test_a_connection_that_was_quiet_for_long_is_no_long_absence(
    server: Scripted, clock: Clock
) -> None:
    streams = [events(cut=True), events(cut=True), events((1, "end", {}))]

    def handle(asked: Asked) -> Answer:
        clock.slept.append(100.0)  # the connection stood for so long, and brought comments alone
        return streams.pop(0)

    server.handle = handle
    with client_of(server.url, clock, Patience(follow=30.0)) as client:
        assert [e.type for e in client.events("a")] == ["end"]


def test_waiting_answers_with_the_job_as_it_ended(server: Scripted, clock: Clock) -> None:
    streams = [events((1, "progress", PROGRESS), cut=True), events((2, "end", {}))]

    def handle(asked: Asked) -> Answer:
        return streams.pop(0) if asked.path.endswith("/events") else answer(JOB)

    server.handle = handle
    with client_of(server.url, clock) as client:
        assert client.wait("a").state == "succeeded"


def test_the_awaited_client_follows_too(server: Scripted, clock: Clock) -> None:
    server.script = [events((1, "job", {}), cut=True), events((2, "end", {}))]

    async def run() -> list[int | None]:
        client = AsyncClient(server.url, now=clock.now, sleep=clock.sleep_awaited)
        async with client:
            return [e.number async for e in client.events("a")]

    assert asyncio.run(run()) == [1, 2]


def test_a_stream_is_read_the_same_however_it_is_cut() -> None:
    text = (
        b': comment\n\nretry: 3000\n\nid: 1\r\nevent: best\r\ndata: {"a":\r\ndata:  1}\r\n\r\n'
        b"event:\xc5\xbc\ndata:[]\n\nid: x\ndata: {}\n\n"
    )
    whole = list(Feed().push(text))
    assert whole == [
        Event(1, "best", {"a": 1}),
        Event(None, "ż", {"value": []}),
        Event(None, "message", {}),
    ]
    for size in range(1, 12):
        feed = Feed()
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        assert [e for p in pieces for e in feed.push(p)] == whole


def test_whoever_asks_for_it_is_told_that_nothing_happens(server: Scripted, clock: Clock) -> None:
    server.script = [events(), events((1, "end", {}))]
    with client_of(server.url, clock) as client:
        assert [e.type for e in client.events("a", tell_quiet=True)] == ["quiet", "end"]
    server.script = [events(), events((1, "end", {}))]
    with client_of(server.url, clock) as client:
        assert [e.type for e in client.events("a")] == ["end"]
