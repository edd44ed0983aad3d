"""Who asks: the owner and scopes behind a request, from the `Authorization` header and nothing else.

A token counts for a second after it was read, so that revoking one takes effect within that. On loopback, where no token
is required, whoever sends none is the owner `local` and may do everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.types import Scope as Connection

from autosched.jobs.access import Scope, Token, matches, token_id_of
from autosched_api.problems import Problem
from autosched_api.service import Service

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="autosched"'}
LOCAL_OWNER = "local"


@dataclass(frozen=True)
class Caller:
    """Who asks, and what they may."""

    owner: str
    scopes: frozenset[Scope]

    @property
    def is_admin(self) -> bool:
        return "admin" in self.scopes

    def sees(self, owner: str | None) -> bool:
        """Whether the jobs of an owner (None: of local commands) are theirs to see."""
        return self.is_admin or owner == self.owner


LOCAL = Caller(LOCAL_OWNER, frozenset({"read", "submit", "admin"}))


async def caller_of(service: Service, connection: Connection, scope: Scope) -> Caller:
    """Whoever sent the request. Problem: no good token where one is needed, or one without this scope."""
    header = _authorization(connection)
    if header is None:
        if service.settings.needs_tokens:
            raise _unauthenticated("send a token: Authorization: Bearer ast_...")
        return _noted(connection, LOCAL)
    token = await _token(service, header)
    if not token.allows(scope):
        raise Problem("forbidden", f"the token has no scope {scope!r}")
    return _noted(connection, Caller(token.owner, token.scopes))


def _noted(connection: Connection, caller: Caller) -> Caller:
    connection["owner"] = caller.owner
    return caller


def _authorization(connection: Connection) -> str | None:
    found = [value for name, value in connection["headers"] if name == b"authorization"]
    if len(found) > 1:
        raise Problem("bad-request", "there are several Authorization headers")
    return found[0].decode("latin-1") if found else None


async def _token(service: Service, header: str) -> Token:
    scheme, _, text = header.partition(" ")
    text = text.strip()
    token_id = token_id_of(text) if scheme.lower() == "bearer" else None
    if token_id is None:
        raise _unauthenticated("the Authorization header holds no token of ours")
    token = await service.tokens.get_or_read(
        token_id, lambda: service.run(lambda store: store.token(token_id))
    )
    if token is None or not matches(token, text, datetime.now(UTC)):
        raise _unauthenticated("the token is unknown, expired or revoked")
    return token


def _unauthenticated(detail: str) -> Problem:
    return Problem("unauthenticated", detail, headers=CHALLENGE)
