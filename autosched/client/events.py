"""The events of a job as they come, over however many connections: a program that resumes by `Last-Event-ID`.

The stream (WHATWG HTML, 9.2) is cut into lines wherever the network cut it into chunks. An event is handed out once:
one whose number was seen already is dropped. The service closes the stream after the last `end`, and answers 204 where
there is nothing after it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autosched.client import calls
from autosched.client.exchange import TRANSIENT, Attempts
from autosched.client.problems import ServiceError, error_of
from autosched.client.steps import Context, Emit, Lost, Open, Program, Read, Reply, Request
from autosched.wire.job import JobDocument

NOTHING_MORE = 204
QUIET = "quiet"
"""The type of what stands for a sign of life of the service without an event: nothing happens in the job."""
MOST_LINE_BYTES = 16 << 20
"""Of an event; a stream with longer ones is none of ours."""


@dataclass(frozen=True)
class Event:
    """`type`: job, task, progress, best, end, or reset where earlier ones are gone; others may come with later versions
    of the service. `number` is None for what is no event of the job's own (reset, quiet)."""

    number: int | None
    type: str
    data: Mapping[str, Any]


class Feed:
    """Bytes in, events out."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[str, list[str]] = {}

    def push(self, chunk: bytes) -> Iterator[Event]:
        """The events that this chunk completes; ServiceError on what is no stream of events."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > MOST_LINE_BYTES:
            raise ServiceError("the stream of events has a line without an end", status=200)
        for line in lines:
            text = line.removesuffix(b"\r").decode(errors="replace")
            if text:
                self._field(text)
            elif self._fields:
                event = _event(self._fields)
                self._fields = {}
                if event is not None:
                    yield event

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name:
            self._fields.setdefault(name, []).append(value.removeprefix(" "))


def _event(fields: Mapping[str, list[str]]) -> Event | None:
    """None where there is no data: a comment, or a hint at when to come back."""
    if "data" not in fields:
        return None
    numbers = fields.get("id", [""])
    try:
        data = json.loads("\n".join(fields["data"]))
    except (ValueError, RecursionError) as error:
        raise ServiceError(f"an event is not JSON: {error}", status=200) from error
    number = int(numbers[-1]) if numbers[-1].isascii() and numbers[-1].isdecimal() else None
    type_ = fields.get("event", ["message"])[-1]
    return Event(number, type_, data if isinstance(data, dict) else {"value": data})


@dataclass
class Follower:
    """Where one reader of a job's events stands. `is_over`: the last one was `end`, after which only a job that is
    resumed has more."""

    job_id: str
    after: int
    is_over: bool = False

    def request(self) -> Request:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(self.after)}
        return Request("GET", f"v1/jobs/{calls.segment(self.job_id)}/events", headers=headers)

    def take(self, event: Event) -> bool:
        """Whether the event is news."""
        if event.type == "reset":
            self.after = event.number or 0
        elif event.number is not None:
            if event.number <= self.after:
                return False
            self.after = event.number
        self.is_over = event.type == "end"
        return True


def follow(
    job_id: str, after: int = 0, *, tell_quiet: bool = False
) -> Callable[[Context], Program[None]]:
    """Every event of a job numbered above `after`, until it has ended; the ends before it was resumed are among them.
    `tell_quiet`: an event `quiet`, too, each time that the service says that there is none, some four times a minute.
    NotThere: no such job. ServiceAway: the service stays away for longer than the client is ready to wait."""

    def program(context: Context) -> Program[None]:
        follower = Follower(job_id, after)
        attempts = Attempts(context, context.patience.follow)
        while True:
            before = follower.after
            answer = yield from _listen(follower, context, attempts, tell_quiet)
            if isinstance(answer, Reply):
                if follower.is_over or answer.status == NOTHING_MORE:
                    return
                answer = Lost("the stream of events ended early")
            if follower.after != before:
                attempts.restart()
            yield attempts.next_wait(answer)

    return program


def _listen(
    follower: Follower, context: Context, attempts: Attempts, tell_quiet: bool
) -> Program[Reply | Lost]:
    """One connection to its end: the reply if it ended in order, or how it was lost."""
    opened: Reply | Lost = yield Open(follower.request(), context.patience.silence)
    if isinstance(opened, Reply) and not opened.is_success:
        if opened.status in TRANSIENT:
            return Lost(str(error_of(opened)))
        raise error_of(opened)
    if isinstance(opened, Lost):
        return opened
    feed = Feed()
    while True:
        chunk: bytes | Lost = yield Read(context.patience.silence)
        if isinstance(chunk, Lost):
            return chunk
        if not chunk:
            return opened
        attempts.prolong()
        events = list(feed.push(chunk))
        for event in events:
            if follower.take(event):
                yield Emit(event)
        if tell_quiet and not events:
            yield Emit(Event(None, QUIET, {}))


def wait(job_id: str) -> Callable[[Context], Program[JobDocument]]:
    """The job once it has ended, however long that takes."""

    def program(context: Context) -> Program[JobDocument]:
        steps, result = follow(job_id)(context), None
        while True:
            try:
                step = steps.send(result)
            except StopIteration:
                break
            result = None if isinstance(step, Emit) else (yield step)
        return (yield from calls.job(job_id)(context))

    return program
