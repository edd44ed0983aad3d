"""`GET /v1/best` past the framework: the same answer in a quarter of the time, for it is asked by the thousand.

Only questions that are written plainly come this way; all others go on to the route, whose rules and documents stand in
`routes.best`, and which explains what is wrong with them.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from autosched.wire.key import KEY_PATTERN
from autosched_api.access import caller_of
from autosched_api.asked import asked_target
from autosched_api.lookups import Asked
from autosched_api.problems import HANDLED, problem_of, problem_response
from autosched_api.renewing import Found
from autosched_api.service import Service

PATH: Final = "/v1/best"
NAMES: Final = frozenset({b"workload", b"target", b"threads", b"toolchain"})
VALUE: Final = re.compile(KEY_PATTERN.encode())
THREADS: Final = re.compile(rb"[1-9][0-9]{0,2}")

Query = dict[bytes, str]


def plain_query(text: bytes) -> Query | None:
    """The parameters by name, if each is known, there once and needs no decoding."""
    found: Query = {}
    for part in text.split(b"&"):
        name, _, value = part.partition(b"=")
        if name not in NAMES or name in found or not VALUE.fullmatch(value):
            return None
        if name == b"threads" and not THREADS.fullmatch(value):
            return None
        found[name] = value.decode("ascii")
    return found if b"workload" in found else None


class BestShortcut:
    """A layer before the router."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._route = Route(PATH, endpoint=self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "GET":
            query = plain_query(scope["query_string"])
            if query is not None:
                scope["route"] = self._route
                await self._answer(query, scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _answer(self, query: Query, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            found = await self._find(query, scope)
        except HANDLED as error:
            problem = problem_response(problem_of(error), scope["request_id"])
            await problem(scope, receive, send)
            return
        self._service.metrics.looked_up(found.match)
        length = str(len(found.body)).encode()
        headers = [(b"content-length", length), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": found.body})

    async def _find(self, query: Query, scope: Scope) -> Found:
        service = self._service
        await caller_of(service, scope, "read")
        threads = int(query[b"threads"]) if b"threads" in query else None
        target = await asked_target(service, query.get(b"target"), threads)
        asked = Asked(query[b"workload"], target, query.get(b"toolchain"))
        return await service.lookups.find(asked)
