"""An HTTP server that answers as it is told, faults included, and notes what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from autosched.client import Client, Patience


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """`cut`: the connection ends after the body, however long it was said to be."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


NO_CONTENT = 204
DROP = Answer(status=0)
"""The connection is closed without an answer."""

Handler = Callable[[Asked], Answer]


def answer(document: Any, status: int = 200, **headers: str) -> Answer:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, json.dumps(document).encode(), names)


def problem(status: int, detail: str, **headers: str) -> Answer:
    return answer(
        {"type": "urn:x", "title": "t", "status": status, "detail": detail}, status, **headers
    )


def events(*numbered: tuple[int, str, Any], cut: bool = False, tail: bytes = b"") -> Answer:
    """A stream of events; `tail` are bytes after the last whole one."""
    text = ": hello\n\n" + "".join(
        f"id: {n}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for n, kind, data in numbered
    )
    return Answer(200, text.encode() + tail, {"Content-Type": "text/event-stream"}, cut=cut)


class Scripted:
    """The server: `handle` answers; or each of `script` in turn, the last one for ever."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.script: list[Answer] = []
        self.handle: Handler = self._next
        self.url = ""

    def _next(self, asked: Asked) -> Answer:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


@contextmanager
def serving() -> Iterator[Scripted]:
    scripted = Scripted()

    class Handling(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, body)
            scripted.asked.append(asked)
            self._send(scripted.handle(asked))

        do_POST = do_GET  # noqa: N815 (the name that http.server calls)

        def _send(self, made: Answer) -> None:
            if made is DROP:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            self.send_response_only(made.status)
            for name, value in made.headers.items():
                self.send_header(name, value)
            length = len(made.body) + (1000 if made.cut else 0)
            if made.status != NO_CONTENT:
                self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(made.body)
            self.close_connection = made.cut

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handling)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    scripted.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield scripted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def sleep_awaited(self, seconds: float) -> None:
        self.slept.append(seconds)


def client_of(url: str, clock: Clock, patience: Patience | None = None, **options: Any) -> Client:
    """A client whose waits take no time."""
    return Client(
        url,
        patience=patience,
        uniform=lambda: 1.0,
        now=clock.now,
        sleep=clock.sleep,
        **options,
    )


JOB: dict[str, Any] = {
    "id": "019a7c1e-7b1a-7cc3-9d6e-0f6a5b4c3d2e",
    "state": "succeeded",
    "terminal": True,
    "end_reason": "trials",
    "owner": "vision",
    "source": "suite:GMM/1@1",
    "target_key": "t1-5f0c",
    "toolchain_key": "c1-0a1b",
    "threads": 2,
    "seed": 0,
    "budget": {"trials": 4, "seconds": None},
    "trials": 4,
    "outcomes": {"ok": 4},
    "tasks": [],
    "created_at": "2026-01-31T12:00:00.000000Z",
    "started_at": "2026-01-31T12:00:01.000000Z",
    "ended_at": "2026-01-31T12:00:09.000000Z",
}
"""A job as the service shows it."""
