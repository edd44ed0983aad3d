"""What a service refuses (RFC 9457), as errors; and the error of a service that cannot be reached.

| status | error | of the command line |
|---|---|---|
| 400 405 413 415 422 431 | InvalidRequest, which is an InvalidInput | 2 |
| 404 | NotThere, an InvalidInput too | 2 |
| any other | ServiceError | 1 |
| no answer | ServiceAway | 1 |
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from autosched.client.steps import Reply
from autosched.errors import AutoschedError, InvalidInput

MOST_SHOWN = 5
"""Broken rules that a message names; the error has all of them."""


@dataclass(frozen=True)
class Breach:
    """A rule that a request broke: `pointer` (RFC 6901) says where."""

    pointer: str
    rule: str
    message: str
    value: Any = None


class ServiceError(AutoschedError):
    """The service answered with a problem. `type` is its URI in the service's table of problems."""

    def __init__(
        self, message: str, *, status: int, type: str = "about:blank", errors: Sequence[Breach] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.errors = tuple(errors)


class InvalidRequest(ServiceError, InvalidInput):
    """The request breaks a rule; repeating it cannot help."""


class NotThere(ServiceError, InvalidInput):
    """There is no such thing, or it is somebody else's."""


class ServiceAway(AutoschedError):
    """No answer within the time there was; the message says what was tried."""


KINDS: Mapping[int, type[ServiceError]] = {
    **dict.fromkeys((400, 405, 413, 415, 422, 431), InvalidRequest),
    404: NotThere,
}


def error_of(reply: Reply) -> ServiceError:
    """The error of an answer that is no success."""
    kind = KINDS.get(reply.status, ServiceError)
    document = _document(reply.body)
    errors = [_breach(e) for e in _list(document.get("errors")) if isinstance(e, dict)]
    message = _message(reply.status, document, errors)
    type_ = document.get("type")
    return kind(
        message,
        status=reply.status,
        type=type_ if isinstance(type_, str) else "about:blank",
        errors=errors,
    )


def _message(status: int, document: Mapping[str, Any], errors: Sequence[Breach]) -> str:
    """One line: what is wrong, then each broken rule that says more."""
    said = str(document.get("detail") or document.get("title") or _phrase(status))
    more = [f"{e.pointer}: {e.message}" if e.pointer else e.message for e in errors]
    more = [m for e, m in zip(errors, more, strict=True) if e.message and e.message not in said]
    hidden = len(more) - MOST_SHOWN
    shown = [*more[:MOST_SHOWN], *([f"and {hidden} more"] if hidden > 0 else [])]
    ends_in_a_stop = said.endswith(".") and not said.endswith("..")
    return "; ".join((said[:-1] if ends_in_a_stop else said, *shown))


def _phrase(status: int) -> str:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "an unknown status"
    return f"the server answered {status} ({phrase})"


def _document(body: bytes) -> Mapping[str, Any]:
    """The problem; empty where something else answered, a proxy perhaps."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _breach(data: Mapping[str, Any]) -> Breach:
    texts = {name: str(data.get(name) or "") for name in ("pointer", "rule", "message")}
    return Breach(**texts, value=data.get("value"))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
