"""Tokens: shown once, stored as digests, listed without secrets, revoked for good."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autosched.cli.app import run_command
from autosched.db.store import open_store
from autosched.jobs.access import matches, token_id_of


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "service.db")


def created(db: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert run_command(["token", "create", "--owner", "vision", "--db", db, *options]) == 0
    return capsys.readouterr().out.strip()


def test_a_token_is_good_and_its_secret_is_nowhere_else(
    db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = created(db, capsys)
    with open_store(db) as store:
        token = store.token(token_id_of(text) or "")
    assert token is not None
    assert matches(token, text, datetime.now(UTC))
    assert token.scopes == {"read", "submit"}
    secret = text.strip().split("_", 2)[2]
    assert run_command(["token", "list", "--json", "--db", db]) == 0
    assert secret not in capsys.readouterr().out
    assert secret.encode() not in Path(db).read_bytes()


def test_tokens_are_listed_with_their_state(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    gone = created(db, capsys)
    created(db, capsys, "--scope", "admin", "--days", "1")
    assert run_command(["token", "revoke", gone, "--db", db]) == 0
    assert gone not in capsys.readouterr().out
    assert run_command(["token", "revoke", token_id_of(gone) or "", "--db", db, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "revoked"
    assert run_command(["token", "list", "--json", "--db", db]) == 0
    items = json.loads(capsys.readouterr().out)["items"]
    assert [(i["state"], i["scopes"]) for i in items] == [
        ("good", ["admin"]),
        ("revoked", ["read", "submit"]),
    ]
    assert items[0]["expires_at"] is not None
    assert run_command(["token", "list", "--db", db]) == 0
    out = capsys.readouterr().out
    assert "revoked" in out
    assert out.count(" UTC") == 3


def test_a_list_of_none_says_so(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(db):
        pass
    assert run_command(["token", "list", "--db", db]) == 0
    assert capsys.readouterr() == ("", "no tokens\n")


def test_json_holds_the_token_once(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(created(db, capsys, "--json"))
    assert token_id_of(document["token"]) == document["id"]
    assert "digest" not in document


@pytest.mark.parametrize(
    "line",
    [
        "create --owner x --scope root",
        "create --owner x --days 0",
        "create",
        "revoke nothing",
        "create --owner " + "x" * 81,
    ],
)
def test_bad_usage_is_status_2(line: str, db: str, capsys: pytest.CaptureFixture[str]) -> None:
    created(db, capsys)
    assert run_command(["token", *line.split(), "--db", db]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "rror" in err


def test_listing_makes_no_database(tmp_path: Path) -> None:
    assert run_command(["token", "list", "--db", str(tmp_path / "typo.db")]) == 2
    assert list(tmp_path.iterdir()) == []
