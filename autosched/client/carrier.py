"""What both drivers tell httpx, and what it tells them: requests out, answers in, failures as values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from autosched.client.address import Address
from autosched.client.steps import Lost, Patience, Reply, Request
from autosched.errors import InvalidInput

NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
)
"""Failures from before the first byte of a request."""


def needs_tls(address: Address) -> bool:
    """Whether certificates are to be loaded and verified: always, where the line is encrypted; no redirect is followed,
    so no plain address leads to one that is."""
    return address.url.scheme == "https"


def timeouts(patience: Patience, seconds: float) -> httpx.Timeout:
    """The longest silences within a call that may take so long."""
    silence = min(patience.silence, seconds)
    return httpx.Timeout(silence, connect=min(patience.connect, seconds))


@contextmanager
def prepared(address: Address, request: Request) -> Iterator[dict[str, Any]]:
    """The arguments of `httpx.Client.build_request`; a file stays open until the answer is there."""
    fixed: dict[str, Any] = {
        "method": request.method,
        "url": address.url.join(request.path),
        "headers": {"Accept": "application/json", **address.headers, **request.headers},
        "params": dict(request.query) or None,
    }
    text = None if request.body is None else _json(request.body)
    if request.model is None:
        if text is not None:
            fixed["content"] = text.encode()
            fixed["headers"]["Content-Type"] = "application/json"
        yield fixed
        return
    try:
        with request.model.open("rb") as file:
            fixed["files"] = {
                "request": (None, text, "application/json"),
                "model": (request.model.name, file, "application/octet-stream"),
            }
            yield fixed
    except OSError as error:
        raise InvalidInput(
            f"source {str(request.model)!r} cannot be read: {error.strerror}"
        ) from error


def _json(body: Any) -> str:
    try:
        return json.dumps(body, allow_nan=False)
    except ValueError as error:
        raise InvalidInput(f"the request holds a number that is none: {error}") from None


def reply_of(response: httpx.Response, body: bytes = b"") -> Reply:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, headers, body)


def lost(error: httpx.HTTPError | httpx.StreamError, address: Address) -> Lost:
    """A failure in words: httpx leaves many of its messages empty."""
    said = str(error) or type(error).__name__
    return Lost(f"{address}: {said}", was_sent=not isinstance(error, NOT_SENT))


def too_slow(address: Address, seconds: float) -> Lost:
    return Lost(f"{address}: the answer took longer than {seconds:g} s")
