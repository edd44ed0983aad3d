"""Connections that wear nobody out: the head of a request is small and comes soon, or its connection is closed.

Between two pieces of a request that mean something (its head, a part of its body, its end) at most `head_bytes` may
come, and a head that does not come at once has `head_seconds`. Without this the parser keeps whatever it is sent, each
piece copied anew for the next, before anybody has shown a token. What cannot be read is answered as everything else
that goes wrong: with a problem document.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from autosched.wire.problem import MEDIA_TYPE, problem_document
from autosched_api.settings import Settings

PER_HEADER_BYTES = len(": \r\n")


class _HeadTooLarge(Exception):
    """Raised within the parser, which tells its caller only that something was."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with bounds on heads. A request that comes in one piece costs one sum more."""

    def __init__(self, *, settings: Settings, **of_server: Any) -> None:
        super().__init__(**of_server)
        self._most = settings.head_bytes
        self._seconds = settings.head_seconds
        self._unread = 0  # bytes since the last piece that meant something
        self._is_within_head = False
        self._is_too_large = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]  # as its own signature has it
        self._begin_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unread += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._unread > self._most:
            self._refuse_size()
        elif self._is_within_head and self._deadline is None:
            self._begin_waiting()

    def on_message_begin(self) -> None:
        self._is_within_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        n_bytes = len(self.url) + PER_HEADER_BYTES * len(self.headers)
        n_bytes += sum(len(name) + len(value) for name, value in self.headers)
        if n_bytes > self._most:
            self._is_too_large = True
            raise _HeadTooLarge
        self._is_within_head = False
        self._unread = 0
        self._end_waiting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unread = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if self._is_too_large:
            self._refuse_size()
        else:
            self._refuse("bad-request", "it is no HTTP/1.1 request")

    def _refuse_size(self) -> None:
        self._refuse("head-too-large", f"at most {self._most} bytes of headers are read")

    def _begin_waiting(self) -> None:
        self._deadline = self.loop.call_later(self._seconds, self._give_up)

    def _end_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if self.transport.is_closing():
            return
        if self._is_within_head:
            self._refuse("too-slow", f"the headers took more than {self._seconds:g} s")
        else:
            self.transport.close()

    def _refuse(self, name: str, detail: str) -> None:
        """Say why and close; an answer that is under way is not talked into."""
        if self.cycle is None or self.cycle.response_complete:
            document = problem_document(name, detail)
            body = document.model_dump_json(exclude_none=True).encode()
            head = (
                f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
                "x-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(STATUS_LINE[document.status] + head.encode() + body)
        self.transport.close()


def bounded(settings: Settings) -> Callable[..., asyncio.Protocol]:
    """What makes the protocol of each connection."""

    def make(**of_server: Any) -> asyncio.Protocol:
        return BoundedProtocol(settings=settings, **of_server)

    return make
