"""`autosched token`: who may use the service of a database; the secret is shown once and never stored."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autosched.cli import options
from autosched.cli.output import ERR, OUT, moment_text, say_empty, table
from autosched.cli.status import DONE
from autosched.errors import InvalidInput
from autosched.plain import is_plain

if TYPE_CHECKING:
    from autosched.jobs.access import Token

token = typer.Typer(help="Tokens of the service on a database.", no_args_is_help=True)

MOST_DAYS = 36_500
MOST_OWNER_CHARACTERS = 80


@token.command()
def create(
    owner: Annotated[str, typer.Option("--owner", help="Whose jobs the token submits and sees.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope", help="read, submit or admin; may be repeated. Default: read and submit."
        ),
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=MOST_DAYS, help="Good for so long.")
    ] = None,
    db: options.Database = None,
    as_json: options.Json = False,
) -> int:
    """Make a token and print it, once."""
    from autosched.db.store import open_store
    from autosched.jobs.access import SCOPES, Token, digest_of, new_secret

    scopes = scope or ["read", "submit"]
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown:
        raise InvalidInput(f"scope {unknown[0]!r}: must be one of {', '.join(SCOPES)}")
    _check_owner(owner)
    now = datetime.now(UTC)
    expires = None if days is None else now + timedelta(days=days)
    token_id, text = new_secret()
    granted = frozenset(s for s in SCOPES if s in scopes)
    made = Token(token_id, owner, granted, digest_of(text), now, expires)
    with open_store(db) as store:
        store.add_token(made)
    if as_json:
        print(json.dumps({**_fields(made, now), "token": text}, indent=2))
        return DONE
    OUT.print(text, markup=False)
    ERR.print("this is the only time that it is shown; pass it on as AUTOSCHED_TOKEN", markup=False)
    return DONE


@token.command("list")
def list_(db: options.Database = None, as_json: options.Json = False) -> int:
    """Show all tokens, without their secrets."""
    from autosched.db.store import open_store

    now = datetime.now(UTC)
    with open_store(db, must_exist=True) as store:
        found = store.tokens()
    if as_json:
        print(json.dumps({"items": [_fields(t, now) for t in found]}, indent=2))
        return DONE
    rows = [
        (
            t.id,
            t.owner,
            ", ".join(sorted(t.scopes)),
            _state(t, now),
            moment_text(t.created_at) or "-",
            moment_text(t.expires_at) or "-",
        )
        for t in found
    ]
    columns = ("token", "owner", "scopes", "state", "created", "expires")
    if rows:
        OUT.print(table("", columns, rows, texts=columns[1:], whole=("token",)))
    say_empty(rows, "token")
    return DONE


@token.command()
def revoke(
    token_id: Annotated[
        str, typer.Argument(metavar="ID", help="As `list` shows it, or the whole token.")
    ],
    db: options.Database = None,
    as_json: options.Json = False,
) -> int:
    """End a token for good; the service refuses it from the next second on."""
    from autosched.db.store import open_store
    from autosched.jobs.access import token_id_of

    token_id = token_id_of(token_id) or token_id
    with open_store(db, must_exist=True) as store:
        if not store.revoke(token_id):
            raise InvalidInput(f"token {token_id!r}: there is none in this database")
    if as_json:
        print(json.dumps({"id": token_id, "state": "revoked"}, indent=2))
    else:
        OUT.print(f"token {token_id} is revoked", markup=False)
    return DONE


def _check_owner(owner: str) -> None:
    if not (0 < len(owner) <= MOST_OWNER_CHARACTERS and is_plain(owner)):
        raise InvalidInput(
            f"owner {owner!r}: must be 1 to {MOST_OWNER_CHARACTERS} printable characters"
        )


def _fields(one: Token, now: datetime) -> dict[str, Any]:
    """What may be shown of a token."""
    from autosched.wire.key import rfc3339

    times = {
        "created_at": one.created_at,
        "expires_at": one.expires_at,
        "revoked_at": one.revoked_at,
    }
    return {
        "id": one.id,
        "owner": one.owner,
        "scopes": sorted(one.scopes),
        "state": _state(one, now),
        **{name: None if at is None else rfc3339(at) for name, at in times.items()},
    }


def _state(one: Token, now: datetime) -> str:
    if one.revoked_at is not None:
        return "revoked"
    return "expired" if one.expires_at is not None and one.expires_at <= now else "good"
