"""Host names that are ours: a page that has its own name resolve to our address gets nothing (DNS rebinding)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from autosched_api.problems import Problem, problem_response
from autosched_api.settings import Settings

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
ANY_ADDRESS = ("0.0.0.0", "::", "")


class Hosts:
    """Refuses requests whose Host is not listed. Bound beyond loopback, addresses are ours too: a name can be made to
    point anywhere, an address cannot."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        names: Iterable[str] = (*settings.allow_host, settings.host, *LOOPBACK_NAMES)
        self._names = {_bare(name) for name in names} - set(ANY_ADDRESS)
        self._takes_addresses = not settings.is_loopback
        self._seen: dict[bytes, bool] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hosts = [value for name, value in scope["headers"] if name == b"host"]
            if len(hosts) != 1 or not self._is_ours(hosts[0]):
                problem = Problem("foreign-host", "the Host header names no host of this service")
                await problem_response(problem, scope["request_id"])(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_ours(self, header: bytes) -> bool:
        found = self._seen.get(header)
        if found is None:
            found = self._is_listed(_name(header.decode("latin-1")))
            if len(self._seen) < 1_000:
                self._seen[header] = found
        return found

    def _is_listed(self, name: str) -> bool:
        return name in self._names or (self._takes_addresses and _is_address(name))


def _name(header: str) -> str:
    """The host without its port."""
    if header.startswith("["):
        return _bare(header.partition("]")[0])
    return _bare(header.partition(":")[0])


def _bare(name: str) -> str:
    return name.strip().strip("[]").rstrip(".").lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
