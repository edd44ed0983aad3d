"""Tokens: who may do what. A token is `ast_<id>_<secret>`, 256 random bits after the id; its digest alone is stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Scope = Literal["read", "submit", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "submit", "admin")
"""read: one's own jobs and every winner; submit: jobs of one's own; admin: everybody's."""

TOKEN = re.compile(r"ast_([0-9a-z]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True)
class Token:
    """What is stored of a token; `digest` is the SHA-256 of its text."""

    id: str
    owner: str
    scopes: frozenset[Scope]
    digest: str
    created_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def allows(self, scope: Scope) -> bool:
        return scope in self.scopes or "admin" in self.scopes


def new_secret() -> tuple[str, str]:
    """A fresh token's id and text."""
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
    token_id = "".join(secrets.choice(alphabet) for _ in range(12))
    return token_id, f"ast_{token_id}_{secrets.token_urlsafe(32)}"


def token_id_of(text: str) -> str | None:
    """The id in a token's text; None if it is none."""
    match = TOKEN.fullmatch(text)
    return match[1] if match else None


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def matches(token: Token, text: str, now: datetime) -> bool:
    """Whether the text is this token's and the token is good at this time."""
    right = hmac.compare_digest(token.digest, digest_of(text))
    is_over = token.revoked_at is not None or (
        token.expires_at is not None and token.expires_at <= now
    )
    return right and not is_over


class TokenStore(Protocol):
    def add_token(self, token: Token) -> None: ...

    def token(self, token_id: str) -> Token | None: ...

    def tokens(self) -> tuple[Token, ...]:
        """Newest first, the revoked and expired ones too."""
        ...

    def revoke(self, token_id: str) -> bool:
        """False if there is no such token; a second time changes nothing."""
        ...
