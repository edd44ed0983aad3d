"""The service over a real database, asked through its ASGI interface: one a session and kind of database."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import httpx
import pytest
from autosched_api.app import create_app
from autosched_api.settings import Settings
from fastapi import FastAPI

from autosched.db.store import SqlTuningStore, connect
from autosched.entry.service_log import open_log
from autosched.jobs.access import Scope, Token, digest_of, new_secret
from autosched.jobs.workers import Worker
from autosched.target.target import Target
from autosched.testing.records import TARGET, TOOLCHAIN, TOOLCHAIN_KEY

UPLOAD_BYTES = 1 << 20
SETTINGS = Settings(
    require_tokens=True,
    upload_bytes=UPLOAD_BYTES,
    body_bytes=256 << 10,
    owner_jobs=30,
    import_memory_bytes=1 << 30,
    import_seconds=20.0,
    event_poll_seconds=0.02,
)


def worker_of(target: Target = TARGET, name: str = "w-1", **fields: Any) -> Worker:
    stored = json.loads(json.dumps(asdict(target)))
    return Worker(
        name,
        "host1",
        target.key,
        stored,
        target.threads,
        TOOLCHAIN_KEY,
        TOOLCHAIN,
        (f"host1/{name}",),
        **fields,
    )


class Client:
    """Asks an application on a loop of its own, a request at a time."""

    def __init__(self, app: FastAPI) -> None:
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
        self._life = app.router.lifespan_context(app)

    def __enter__(self) -> Client:
        self._runner.run(self._life.__aenter__())
        return self

    def __exit__(self, *raised: object) -> None:
        self._runner.run(self._life.__aexit__(None, None, None))
        self._runner.run(self._client.aclose())
        self._runner.close()

    def request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, **arguments))

    def together(self, *asked: tuple[str, str, dict[str, Any]]) -> list[httpx.Response]:
        """The answers to requests that are under way at the same time."""

        async def all_of_them() -> list[httpx.Response]:
            calls = [self._client.request(m, p, **arguments) for m, p, arguments in asked]
            return list(await asyncio.gather(*calls))

        return self._runner.run(all_of_them())


@dataclass
class Api:
    """A service: the application and its client, its store, and what it logged. Every owner's requests carry a token of
    their own."""

    app: FastAPI
    client: Client
    store: SqlTuningStore
    logged: io.StringIO
    names: Iterator[int] = field(default_factory=count)

    def owner(self) -> str:
        """A name that nobody has had."""
        return f"owner{next(self.names)}"

    def token(
        self, owner: str, *scopes: Scope, expires_in: float | None = None
    ) -> tuple[str, dict[str, str]]:
        """A token's id and the header that brings it."""
        token_id, text = new_secret()
        now = datetime.now(UTC)
        expires = None if expires_in is None else now + timedelta(seconds=expires_in)
        chosen = frozenset(scopes or ("read", "submit"))
        token = Token(token_id, owner, chosen, digest_of(text), now, expires)
        self.store.add_token(token)
        return token_id, {"Authorization": f"Bearer {text}"}

    def caller(self, owner: str | None = None, *scopes: Scope) -> Caller:
        name = owner or self.owner()
        return Caller(self, name, self.token(name, *scopes)[1])


@dataclass
class Caller:
    """Somebody with a token."""

    api: Api
    owner: str
    headers: dict[str, str]

    def ask(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        headers = {**self.headers, **arguments.pop("headers", {})}
        return self.api.client.request(method, path, headers=headers, **arguments)

    def get(self, path: str, **arguments: Any) -> httpx.Response:
        return self.ask("GET", path, **arguments)

    def post(self, path: str, **arguments: Any) -> httpx.Response:
        return self.ask("POST", path, **arguments)

    def submit(self, **fields: Any) -> dict[str, Any]:
        """A job in the queue."""
        answer = self.post("/v1/jobs", json={"source": "suite:GMM/1@1", "trials": 8, **fields})
        assert answer.status_code == 202, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("api")
    if request.param == "sqlite":
        url = str(folder / "service.db")
    else:
        url = request.getfixturevalue("postgres").new_database()
    logged = io.StringIO()
    store = connect(url)
    store.register(worker_of())
    settings = SETTINGS.model_copy(update={"db": url, "spool": str(folder)})
    app = create_app(settings, log=open_log(logged))
    with Client(app) as client:
        yield Api(app, client, store, logged)
    store.close_connections()


@pytest.fixture
def caller(api: Api) -> Caller:
    return api.caller()


def problem(answer: httpx.Response, status: int, name: str) -> dict[str, Any]:
    """The document of an answer that must be this problem."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["type"] == f"urn:autosched:problem:{name}"
    assert found["status"] == status
    assert found["request_id"] == answer.headers["x-request-id"]
    return found


def other_target(**fields: Any) -> Target:
    return replace(TARGET, **fields)
