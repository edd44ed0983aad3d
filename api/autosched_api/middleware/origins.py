"""Requests that a page of another origin made: refused, whatever they ask, since a browser sends them on its own."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from autosched_api.problems import Problem, problem_response

OWN_SITES = frozenset({b"same-origin", b"none"})
"""What Sec-Fetch-Site says of a request that our own page or a person began."""


class Origins:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _is_foreign(scope):
            problem = Problem("foreign-origin", "a page of another origin sent this request")
            await problem_response(problem, scope["request_id"])(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_foreign(scope: Scope) -> bool:
    origin = site = host = b""
    for name, value in scope["headers"]:
        if name == b"origin":
            origin = value
        elif name == b"sec-fetch-site":
            site = value
        elif name == b"host":
            host = value
    if site and site not in OWN_SITES:
        return True
    return bool(origin) and _authority(origin) != host.decode("latin-1").lower()


def _authority(origin: bytes) -> str:
    """Host and port of an origin; empty for an opaque one."""
    try:
        return urlsplit(origin.decode("latin-1")).netloc.lower()
    except ValueError:
        return ""
