"""A job's events as a stream that a client can leave and take up again (server-sent events).

    id: 7
    event: best
    data: {...}

An id is the event's number in its job. A stream ends after the event `end`, when the process is told to
end, or after an hour, when its client takes it up again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Sequence

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from autosched.errors import StoreError
from autosched.jobs.record import JobEvent
from autosched.wire.event import RESET
from autosched.wire.key import rfc3339
from autosched_api.problems import Problem
from autosched_api.service import Service

RETRY_MS = 1_000
BATCH = 500


def event_text(event: JobEvent) -> bytes:
    data = {**event.data, "job": event.job_id, "at": rfc3339(event.created_at)}
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return f"id: {event.number}\nevent: {event.type}\ndata: {text}\n\n".encode()


def take_place(service: Service, owner: str) -> None:
    """One of the streams that an owner and the process may have. Problem: all are taken."""
    settings, streams = service.settings, service.streams
    if streams[owner] >= settings.owner_streams:
        raise Problem("quota-exceeded", f"{owner!r} follows {streams[owner]} jobs already")
    if streams.total() >= settings.streams:
        raise Problem("busy", f"{streams.total()} jobs are followed already")
    streams[owner] += 1
    service.metrics.streams.inc()


def give_place_back(service: Service, owner: str) -> None:
    service.streams[owner] -= 1
    if service.streams[owner] <= 0:
        del service.streams[owner]
    service.metrics.streams.dec()


class EventStream(StreamingResponse):
    """An answer that holds a place until it ends, however that comes about."""

    def __init__(self, service: Service, owner: str, content: AsyncIterator[bytes]) -> None:
        take_place(service, owner)
        super().__init__(
            content, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )
        self._service = service
        self._owner = owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            give_place_back(self._service, self._owner)


RESET_TEXT = f"event: {RESET}\ndata: {{}}\n\n".encode()


async def is_beyond(service: Service, job_id: str, last: int) -> bool:
    """Whether a job never came to the event that a client says it has seen: it is of another database, or of one that
    was put back to an earlier state. Of what is kept of a job, the last event always is."""
    if last == 0:
        return False
    return not await service.run(lambda store: store.events(job_id, after=last - 1, limit=1))


async def follow(
    service: Service, job_id: str, last: int | None, *, is_reset: bool = False
) -> AsyncIterator[bytes]:
    """The events after the one numbered `last` (None: from the first there is), as they come. `is_reset`: begin by
    telling the client that what it knows is nothing."""
    yield f"retry: {RETRY_MS}\n\n".encode()
    if is_reset:
        yield RESET_TEXT
    after, spoke_at = last or 0, time.monotonic()
    is_resumed = last is not None
    until = spoke_at + service.settings.event_stream_seconds
    while not service.stopping.is_set() and time.monotonic() < until:
        batch = await _next(service, job_id, after)
        if batch:
            if is_resumed and batch[0].number > after + 1:
                yield RESET_TEXT
            yield b"".join(event_text(event) for event in batch)
            after, spoke_at, is_resumed = batch[-1].number, time.monotonic(), True
            if batch[-1].type == "end" and len(batch) < BATCH:
                return
        elif time.monotonic() - spoke_at >= service.settings.event_comment_seconds:
            yield b": nothing new\n\n"
            spoke_at = time.monotonic()
        if len(batch) < BATCH:
            await _pause(service)


async def _next(service: Service, job_id: str, after: int) -> Sequence[JobEvent]:
    """What has come since; nothing while the database cannot answer, which the client need not know."""
    try:
        return await service.run(lambda store: store.events(job_id, after=after, limit=BATCH))
    except (StoreError, Problem):
        return ()


async def _pause(service: Service) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(service.stopping.wait(), service.settings.event_poll_seconds)
