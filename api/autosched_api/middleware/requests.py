"""Every request gets an id, a line in the log and an answer, whatever happens below."""

from __future__ import annotations

import secrets
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autosched.entry.service_log import Log
from autosched_api.metrics import Metrics
from autosched_api.problems import problem_of, problem_response

QUIET = frozenset({"/healthz", "/readyz", "/metrics", "/v1/best"})
"""Routes whose good answers are counted and not logged: they come by the thousand."""


class Requests:
    def __init__(self, app: ASGIApp, log: Log, metrics: Metrics) -> None:
        self._app = app
        self._log = log
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = scope["request_id"] = f"r-{secrets.token_hex(8)}"
        started = time.perf_counter()
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"x-request-id", request_id.encode()),
                ]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:
            self._log.error("fault", exc_info=error, **_words(scope))
            if not status:
                await problem_response(problem_of(error), request_id)(scope, receive, noting)
        finally:
            self._note(scope, status or 499, time.perf_counter() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        self._metrics.observe(route, scope["method"], str(status), seconds)
        if status < 400 and route in QUIET:
            return
        self._log.info("request", status=status, seconds=round(seconds, 6), **_words(scope))


def _route(scope: Scope) -> str:
    """The route's own path, never the client's: a metric must not have as many names as there are ids."""
    found = scope.get("route")
    return str(getattr(found, "path", "none"))


def _words(scope: Scope) -> MutableMapping[str, Any]:
    """What the log says of a request; no header, no query."""
    words: dict[str, Any] = {
        "request_id": scope["request_id"],
        "method": scope["method"],
        "route": _route(scope),
        "owner": scope.get("owner"),
    }
    for name in ("job_id", "trial_id", "key"):
        value = scope.get("path_params", {}).get(name) or scope.get("state", {}).get(name)
        if value is not None:
            words[name] = value
    return words
