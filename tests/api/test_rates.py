"""How many lookups a second one API process answers over a large database.

    pytest tests/api/test_rates.py -m campaign -s [--scale-trials 10000000 | --scale-url URL]

One process, eight connections, tokens checked, the load generator a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from autosched.db.store import open_store
from autosched.jobs.access import Token, digest_of, new_secret
from autosched.testing.records import TARGET
from tests.api.process import ROOT, Process, running
from tests.service.filling import load_filled
from tests.service.large import fill_new, large_server

pytestmark = pytest.mark.campaign

MOST_P99_MS = 20.0
KEYS = 50


@pytest.fixture(scope="module")
def large_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A large database: the one named, or one made anew."""
    url: str | None = request.config.getoption("--scale-url")
    if url is not None:
        yield url
        return
    with large_server() as server:
        yield fill_new(server, int(request.config.getoption("--scale-trials")))[0]


@contextmanager
def served(url: str, folder: Path, *arguments: str) -> Iterator[tuple[Process, str, list[str]]]:
    """The API, a token for it and the keys of workloads."""
    token_id, text = new_secret()
    with open_store(url) as store:
        store.add_token(Token(token_id, "load", frozenset({"read"}), digest_of(text)))
        keys = list(load_filled(store).workload_keys)
    with running(url, folder, "--require-tokens", "true", *arguments) as process:
        yield process, text, keys


def request(process: Process, token: str, line: str, body: str = "") -> str:
    length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    return (
        f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{process.port}\r\nAuthorization: Bearer {token}\r\n"
        f"{length}\r\n{body}"
    )


def load(process: Process, requests: Sequence[str], seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.api.load", "--port", str(process.port)]
    text = "".join(json.dumps(r) + "\n" for r in requests)
    done = subprocess.run(
        [*command, "--seconds", str(seconds)],
        cwd=ROOT,
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["errors"] == 0, found["example"]
    print({k: v for k, v in found.items() if k not in {"errors", "example"}})
    return found


def gets(process: Process, token: str, keys: Sequence[str]) -> list[str]:
    return [
        request(process, token, f"GET /v1/best?workload={key}&target={TARGET.key}") for key in keys
    ]


def test_lookups_from_the_cache(large_url: str, tmp_path: Path) -> None:
    with served(large_url, tmp_path) as (process, token, keys):
        hot = gets(process, token, keys[:1000])
        load(process, hot, 5.0)
        found = load(process, hot, 60.0)
    assert found["rate"] >= 1500
    assert found["p99_ms"] < MOST_P99_MS


def test_lookups_without_the_cache(large_url: str, tmp_path: Path) -> None:
    with served(large_url, tmp_path, "--cache-seconds", "0") as (process, token, keys):
        found = load(process, gets(process, token, keys), 30.0)
    assert found["rate"] >= 300


def test_lookups_of_many_keys(large_url: str, tmp_path: Path) -> None:
    with served(large_url, tmp_path) as (process, token, keys):
        bodies = [
            json.dumps({"workloads": keys[i : i + KEYS], "target": TARGET.key})
            for i in range(0, 200 * KEYS, KEYS)
        ]
        asked = [request(process, token, "POST /v1/best", body) for body in bodies]
        found = load(process, asked, 30.0)
    assert found["rate"] >= 50
