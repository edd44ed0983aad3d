"""Every error is a problem document of the table, the framework's own included, and says nothing of our insides."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from autosched_api.problems import HANDLED, OF_STATUS, Problem, problem_of

from autosched.errors import StoreError
from autosched.wire.problem import PREFIX, PROBLEMS
from tests.api.conftest import Api, Caller, problem

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "multipart/form-data; boundary=b"}
PART = '--b\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'


def parts(*named: tuple[str, str], end: str = "--b--\r\n") -> bytes:
    return ("".join(PART.format(name, text) for name, text in named) + end).encode()


@pytest.mark.parametrize(
    ("method", "path", "status", "name"),
    [
        ("GET", "/", 404, "not-found"),
        ("GET", "/v1/jobs/", 404, "not-found"),
        ("GET", "/v1/jobs/01a2", 404, "not-found"),
        ("GET", "/v1/trials/01a2.0.1", 404, "not-found"),
        ("GET", "/v1/trials/x", 404, "not-found"),
        ("GET", "/v1/trials/01a2.0.99999999999999999999", 404, "not-found"),
        ("GET", "/v1/workloads/w1-0", 404, "not-found"),
        ("GET", "/v1/jobs/a%2Fb", 404, "not-found"),
        ("GET", "/v1/jobs/a%20b", 422, "invalid-input"),
        ("GET", "/v1/jobs/a%00b", 422, "invalid-input"),
        ("DELETE", "/v1/jobs", 405, "method-not-allowed"),
        ("GET", "/v1/jobs/x/cancel", 405, "method-not-allowed"),
        ("GET", "/v1/jobs?limit=501", 422, "invalid-input"),
        ("GET", "/v1/jobs?limit=ten", 422, "invalid-input"),
        ("GET", "/v1/jobs?state=asleep", 422, "invalid-input"),
        ("GET", "/v1/jobs?wish=1", 422, "invalid-input"),
        ("GET", "/v1/jobs?label=x%00:y", 422, "invalid-input"),
        ("GET", "/v1/best", 422, "invalid-input"),
        ("GET", "/v1/best?workload=a%2Fb", 422, "invalid-input"),
        ("GET", "/v1/best?workload=w1-0&threads=0", 422, "invalid-input"),
        ("GET", "/v1/best?workload=w1-0&target=nothing", 422, "no-such-target"),
        ("PUT", "/v1/best", 405, "method-not-allowed"),
    ],
)
def test_addresses(caller: Caller, method: str, path: str, status: int, name: str) -> None:
    problem(caller.ask(method, path), status, name)


def test_a_method_that_is_not_taken_is_answered_with_those_that_are(caller: Caller) -> None:
    assert caller.ask("DELETE", "/v1/jobs").headers["Allow"] == "GET, POST"


@pytest.mark.parametrize(
    ("content", "headers", "status", "name"),
    [
        (b"{", JSON, 400, "bad-request"),
        (b"", JSON, 400, "bad-request"),
        (b"\xff\xfe", JSON, 400, "bad-request"),
        (b'"\\ud800"', JSON, 400, "bad-request"),
        (b"[]", JSON, 422, "invalid-input"),
        (b"null", JSON, 422, "invalid-input"),
        (b"[" * 100_000, JSON, 422, "invalid-input"),
        (b'{"trials": 8, "graph": ' + b'{"a":' * 10_000, JSON, 422, "invalid-input"),
        (b'{"trials": 1e400}', JSON, 422, "invalid-input"),
        (b'{"trials": ' + b"9" * 5_000 + b"}", JSON, 400, "bad-request"),
        (b" " * (300 << 10), JSON, 413, "too-large"),
        (b"{}", {}, 415, "unsupported-media-type"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "unsupported-media-type"),
        (b"{}", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "unsupported-media-type"),
        (b"x", {"Content-Type": "multipart/form-data"}, 400, "bad-request"),
        (b"x", {"Content-Type": "multipart/form-data; boundary=" + "b" * 99}, 400, "bad-request"),
        (b"", FORM, 400, "bad-request"),
        (b"nonsense", FORM, 400, "bad-request"),
        (parts(("model", "x"), end=""), FORM, 400, "bad-request"),
        (parts(("model", "x")), FORM, 422, "invalid-input"),
        (parts(("request", '{"trials": 8}')), FORM, 422, "invalid-input"),
        (parts(("model", ""), ("request", '{"trials": 8}')), FORM, 422, "invalid-input"),
        (parts(("model", "x"), ("request", '{"trials": 8}')), FORM, 422, "invalid-input"),
        (parts(("model", "x"), ("request", "{")), FORM, 400, "bad-request"),
        (parts(("model", "x"), ("model", "y")), FORM, 422, "invalid-input"),
        (parts(("path", "/etc/passwd")), FORM, 422, "invalid-input"),
        (parts(("model", "x"), ("request", '{"trials": 8, "source": "suite:*"}')), FORM, 422, "invalid-input"),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
def test_bodies(
    caller: Caller, content: bytes, headers: dict[str, str], status: int, name: str
) -> None:
    problem(caller.post("/v1/jobs", content=content, headers=headers), status, name)


@pytest.mark.parametrize("key", ["", "a b", "x" * 81, "a/b"])
def test_an_idempotency_key_is_a_key(caller: Caller, key: str) -> None:
    body = {"source": "suite:GMM/1@1", "trials": 8}
    answer = caller.post("/v1/jobs", json=body, headers={"Idempotency-Key": key})
    found = problem(answer, 422, "invalid-input")
    assert found["errors"][0]["pointer"] == "header/Idempotency-Key"


@pytest.mark.parametrize("last", ["-1", "x", "9" * 30])
def test_the_id_of_a_last_event_is_a_number(caller: Caller, last: str) -> None:
    job = caller.submit()
    answer = caller.get(f"/v1/jobs/{job['id']}/events", headers={"Last-Event-ID": last})
    problem(answer, 422, "invalid-input")


def test_a_promise_of_too_much_is_refused_unread(caller: Caller) -> None:
    async def nothing() -> Any:
        raise AssertionError("the body was read")
        yield b""

    headers = {**FORM, "Content-Length": str(10 << 30)}
    problem(caller.post("/v1/jobs", content=nothing(), headers=headers), 413, "too-large")


def test_a_fault_of_ours_says_nothing_of_itself_but_to_the_log(
    api: Api, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(key: str) -> str:
        raise ZeroDivisionError(f"{__file__} {sys.prefix}")

    monkeypatch.setattr(api.app.state.service.store, "workload_text", broken)
    answer = caller.get("/v1/workloads/w1-0")
    found = problem(answer, 500, "internal")
    for secret in ("Traceback", "ZeroDivisionError", __file__, sys.prefix):
        assert secret not in answer.text
    assert found["request_id"] in api.logged.getvalue()
    assert "ZeroDivisionError" in api.logged.getvalue()


def test_a_database_that_cannot_answer_is_asked_again(
    api: Api, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> Any:
        raise StoreError("connection to server at /secret/socket failed")

    for call in ("workload_text", "ping", "bests"):
        monkeypatch.setattr(api.app.state.service.store, call, away)
    for path in ("/v1/workloads/w1-0", "/readyz", "/v1/best?workload=w1-unasked"):
        answer = caller.get(path)
        problem(answer, 503, "unavailable")
        assert answer.headers["Retry-After"] == "1"
        assert "secret" not in answer.text
    assert caller.get("/healthz").status_code == 200


def test_the_table_covers_what_the_framework_raises() -> None:
    assert set(OF_STATUS.values()) <= set(PROBLEMS)
    for status, name in OF_STATUS.items():
        assert PROBLEMS[name].status == status


def test_every_handled_error_has_its_problem() -> None:
    assert problem_of(StoreError("x")).name == "unavailable"
    assert problem_of(ZeroDivisionError("x")).name == "internal"
    assert PREFIX + problem_of(Problem("busy")).name == f"{PREFIX}busy"
    assert ZeroDivisionError not in HANDLED


def test_a_path_that_is_none_says_where_the_schema_is(caller: Caller) -> None:
    assert "/v1/openapi.json" in caller.ask("GET", "/v1/v1/jobs").json()["detail"]
    assert "openapi" not in caller.ask("GET", "/v1/jobs/01a2").json()["detail"]


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/best"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Encoding": "gzip"},
        {"Content-Encoding": "identity, br"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": 'application/json;x=y;Charset="UTF-7"'},
    ],
    ids=str,
)
def test_bodies_are_read_as_they_are(caller: Caller, path: str, headers: dict[str, str]) -> None:
    body = b'{"source": "suite:GMM/1@1", "trials": 8}'
    refused = caller.post(
        path, content=body, headers={"Content-Type": "application/json", **headers}
    )
    problem(refused, 415, "unsupported-media-type")


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Encoding": "identity"},
        {"Content-Type": "application/json; charset=utf-8"},
        {"Content-Type": 'application/json; charset="UTF-8"'},
    ],
    ids=str,
)
def test_what_says_that_it_is_plain_is_read(caller: Caller, headers: dict[str, str]) -> None:
    body = b'{"source": "suite:GMM/1@1"}'
    found = caller.post(
        "/v1/best", content=body, headers={"Content-Type": "application/json", **headers}
    )
    assert found.status_code == 200, found.text


@pytest.mark.parametrize("path", ["/v1/jobs/none/resume", "/v1/jobs"])
def test_a_compressed_body_is_refused_whatever_it_is(caller: Caller, path: str) -> None:
    kind = "multipart/form-data; boundary=b" if path == "/v1/jobs" else "application/json"
    headers = {"Content-Encoding": "gzip", "Content-Type": kind}
    problem(caller.post(path, content=b"x", headers=headers), 415, "unsupported-media-type")
