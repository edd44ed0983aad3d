"""One call: asked again while that can help, until its deadline.

Asked again is a call whose connection failed, or that was answered 429, 502, 503 or 504, if doing it twice does it once
(reads, and what carries an Idempotency-Key) or if it was never sent. `Retry-After` is honoured; one that lies beyond
the deadline ends the call at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic

from autosched.client.problems import ServiceAway, ServiceError, error_of
from autosched.client.steps import Context, Lost, Program, Reply, Request, Send, T, Wait

TRANSIENT = frozenset({429, 502, 503, 504})
SLOW_LINE_BYTES_PER_SECOND = 1 << 20
"""A file that is uploaded prolongs its call's deadline by its size over this."""


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and how its answer is read: a Plan. `read` may raise ValueError on an answer of another service."""

    request: Request
    read: Callable[[Any], T]

    def __call__(self, context: Context) -> Program[T]:
        reply = yield from exchange(self.request, context)
        return read_reply(reply, self.read)


def exchange(request: Request, context: Context) -> Program[Reply]:
    """The answer of a success. ServiceError: a refusal. ServiceAway: no answer in time."""
    attempts = Attempts(context, context.patience.deadline + _upload_seconds(request))
    while True:
        answer: Reply | Lost = yield Send(request, attempts.seconds_left)
        if isinstance(answer, Reply) and answer.status not in TRANSIENT:
            if answer.is_success:
                return answer
            raise error_of(answer)
        if not may_repeat(request, answer):
            raise attempts.failure(answer)
        yield attempts.next_wait(answer)


def may_repeat(request: Request, answer: Reply | Lost) -> bool:
    return request.is_repeatable or (isinstance(answer, Lost) and not answer.was_sent)


class Attempts:
    """The tries of one call: when the next one comes, or that there is none."""

    def __init__(self, context: Context, seconds: float) -> None:
        self._context = context
        self._seconds = seconds
        self.restart()

    def restart(self) -> None:
        """It worked: what fails next is a new failure."""
        self._ends = self._context.now() + self._seconds
        self._tries = 0

    def prolong(self) -> None:
        """There is contact: the time that remains begins anew, the waits go on growing."""
        self._ends = self._context.now() + self._seconds

    @property
    def seconds_left(self) -> float:
        return max(self._ends - self._context.now(), 0.001)

    def next_wait(self, answer: Reply | Lost) -> Wait:
        """What comes before the next try; raises the failure if that would be too late."""
        self._tries += 1
        asked = retry_after(answer) if isinstance(answer, Reply) else None
        drawn = self._context.patience.wait(self._tries, self._context.uniform)
        wait = drawn if asked is None else max(asked, drawn)
        if self._context.now() + wait >= self._ends:
            raise self.failure(answer)
        return Wait(wait, answer.reason if isinstance(answer, Lost) else str(error_of(answer)))

    def failure(self, answer: Reply | Lost) -> ServiceError | ServiceAway:
        """The last answer as an error."""
        if isinstance(answer, Reply):
            return error_of(answer)
        tries = max(self._tries, 1)
        tried = (
            f"tried once, within {self._seconds:g} s"
            if tries == 1
            else f"tried {tries} times in {self._seconds:g} s"
        )
        return ServiceAway(f"no answer: {answer.reason} ({tried})")


def retry_after(reply: Reply) -> float | None:
    """Seconds, from a number of them or from a date beside the answer's own (RFC 9110, 10.2.3); None if it says nothing
    that can be read."""
    text = reply.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    then, now = _date(text), _date(reply.headers.get("date", ""))
    return None if then is None or now is None else max((then - now).total_seconds(), 0.0)


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def read_reply(reply: Reply, read: Callable[[Any], T]) -> T:
    """The document; ServiceError if what answered is no service of ours."""
    try:
        return read(json.loads(reply.body))
    except (ValueError, RecursionError) as error:
        lines = str(error).splitlines() or ["nothing"]
        message = f"the answer is not one of this service, or of another version of it: {lines[0]}"
        raise ServiceError(message, status=reply.status) from error


def _upload_seconds(request: Request) -> float:
    """0 where there is no file, or one that cannot be read: opening it says so."""
    if request.model is None:
        return 0.0
    try:
        return request.model.stat().st_size / SLOW_LINE_BYTES_PER_SECOND
    except OSError:
        return 0.0
