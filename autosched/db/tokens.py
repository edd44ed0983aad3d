"""Tokens in SQL: their digests alone."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, func, insert, select, update

from autosched.db.rows import ResultRow
from autosched.db.service_schema import TokenRow
from autosched.jobs.access import SCOPES, Token
from autosched.plain import check_plain

_TOKENS = select(*TokenRow.__table__.columns)
_TOKEN = _TOKENS.where(TokenRow.id == bindparam("token"))


def add_token(connection: Connection, token: Token) -> None:
    check_plain("owner", token.owner)
    row = {
        "id": token.id,
        "owner": token.owner,
        "scopes": " ".join(sorted(token.scopes)),
        "digest": token.digest,
        "created_at": token.created_at or datetime.now(UTC),
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
    }
    connection.execute(insert(TokenRow), [row])


def load_token(connection: Connection, token_id: str) -> Token | None:
    row = connection.execute(_TOKEN, {"token": token_id}).first()
    return None if row is None else _token_of(row)


def load_tokens(connection: Connection) -> tuple[Token, ...]:
    """Newest first."""
    rows = connection.execute(_TOKENS.order_by(TokenRow.created_at.desc(), TokenRow.id))
    return tuple(_token_of(row) for row in rows)


def revoke(connection: Connection, token_id: str) -> bool:
    """The first time stays."""
    at = {"revoked_at": func.coalesce(TokenRow.revoked_at, datetime.now(UTC))}
    revoked = update(TokenRow).where(TokenRow.id == token_id).values(at).returning(TokenRow.id)
    return connection.scalar(revoked) is not None


def _token_of(row: ResultRow) -> Token:
    return Token(
        id=row.id,
        owner=row.owner,
        scopes=frozenset(s for s in SCOPES if s in row.scopes.split()),
        digest=row.digest,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )
