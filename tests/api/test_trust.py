"""What is not to be trusted is refused, each with its documented problem."""

from __future__ import annotations

from typing import Any

import pytest
from autosched_api.middleware.hosts import Hosts
from autosched_api.settings import Settings, is_loopback

from tests.api.conftest import Api, Caller, problem

UNKNOWN = {"Authorization": f"Bearer ast_{'0' * 12}_{'A' * 43}"}

FOREIGN: tuple[tuple[dict[str, str], int, str], ...] = (
    ({"Origin": "https://evil.example"}, 403, "foreign-origin"),
    ({"Origin": "null"}, 403, "foreign-origin"),
    ({"Origin": "http://localhost:9999"}, 403, "foreign-origin"),
    ({"Sec-Fetch-Site": "cross-site"}, 403, "foreign-origin"),
    ({"Sec-Fetch-Site": "same-site"}, 403, "foreign-origin"),
    ({"Host": "evil.example"}, 421, "foreign-host"),
    ({"Host": "localhost.evil.example"}, 421, "foreign-host"),
    ({"Host": "192.0.2.1"}, 421, "foreign-host"),
)

REQUESTS = (
    ("GET", "/v1/jobs"),
    ("POST", "/v1/jobs"),
    ("GET", "/v1/best?workload=w1-0"),
    ("GET", "/healthz"),
    ("OPTIONS", "/v1/jobs"),
    ("GET", "/nowhere"),
)


@pytest.mark.parametrize(("headers", "status", "name"), FOREIGN, ids=str)
@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_pages_and_hosts_that_are_not_ours_get_nothing(
    caller: Caller, headers: dict[str, str], status: int, name: str, method: str, path: str
) -> None:
    problem(caller.ask(method, path, headers=headers), status, name)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8700", "127.0.0.1:1", "[::1]:8700"])
def test_hosts_that_are_ours_are_answered(api: Api, host: str) -> None:
    assert api.client.request("GET", "/healthz", headers={"Host": host}).status_code == 200


def test_a_page_of_our_own_origin_is_answered(api: Api) -> None:
    headers = {"Host": "localhost:8700", "Origin": "http://localhost:8700"}
    assert api.client.request("GET", "/healthz", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        UNKNOWN,
        {"Authorization": "Bearer nonsense"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": ""},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/best?workload=w1-0", "/v1/info", "/metrics"])
def test_without_a_good_token_nothing_is_told(api: Api, headers: dict[str, str], path: str) -> None:
    answer = api.client.request("GET", path, headers=headers)
    problem(answer, 401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_token_in_the_address_is_none(api: Api) -> None:
    _, headers = api.token(api.owner())
    text = headers["Authorization"].removeprefix("Bearer ")
    answer = api.client.request("GET", "/v1/best", params={"workload": "w1-0", "token": text})
    problem(answer, 401, "unauthenticated")
    assert text not in api.logged.getvalue()


def test_an_expired_token_is_refused(api: Api) -> None:
    _, headers = api.token(api.owner(), expires_in=-1)
    problem(api.client.request("GET", "/v1/jobs", headers=headers), 401, "unauthenticated")


def test_a_revoked_token_is_refused_within_a_second(api: Api) -> None:
    token_id, headers = api.token(api.owner())
    ask = ("GET", "/v1/jobs")
    assert api.client.request(*ask, headers=headers).status_code == 200
    assert api.store.revoke(token_id)
    clock = api.app.state.service.tokens
    clock._clock = lambda real=clock._clock: real() + 1.01
    problem(api.client.request(*ask, headers=headers), 401, "unauthenticated")


def test_a_token_does_what_its_scopes_say(api: Api) -> None:
    reader = api.caller(None, "read")
    body = {"source": "suite:GMM/1@1", "trials": 8}
    problem(reader.post("/v1/jobs", json=body), 403, "forbidden")
    assert reader.get("/v1/jobs").status_code == 200
    problem(api.caller(None, "submit").get("/v1/jobs"), 403, "forbidden")


@pytest.mark.parametrize(
    ("method", "suffix"),
    [
        ("GET", ""),
        ("GET", "/events"),
        ("GET", "/trials"),
        ("POST", "/cancel"),
        ("POST", "/resume"),
    ],
)
def test_a_job_of_another_owner_looks_like_none(api: Api, method: str, suffix: str) -> None:
    job = api.caller().submit()
    stranger = api.caller()
    refused = problem(stranger.ask(method, f"/v1/jobs/{job['id']}{suffix}"), 404, "not-found")
    absent = stranger.ask(method, f"/v1/jobs/{job['id'][::-1]}{suffix}")
    assert refused["title"] == problem(absent, 404, "not-found")["title"]
    problem(stranger.get("/v1/jobs", params={"owner": job["owner"]}), 403, "forbidden")
    assert job["id"] not in stranger.get("/v1/jobs?limit=500").text


def test_an_admin_sees_everybodys_jobs(api: Api) -> None:
    job = api.caller().submit()
    admin = api.caller(None, "admin")
    assert admin.get(f"/v1/jobs/{job['id']}").json()["id"] == job["id"]
    listed = admin.get("/v1/jobs", params={"owner": job["owner"]}).json()["items"]
    assert [j["id"] for j in listed] == [job["id"]]


SECURITY = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


@pytest.mark.parametrize("path", ["/healthz", "/nowhere", "/v1/jobs", "/v1/best?workload=w1-0"])
@pytest.mark.parametrize("headers", [{}, {"Host": "evil.example"}])
def test_every_answer_keeps_browsers_from_doing_things(
    caller: Caller, path: str, headers: dict[str, str]
) -> None:
    answer = caller.get(path, headers=headers)
    assert {name: answer.headers[name] for name in SECURITY} == SECURITY


def test_no_secret_and_no_query_is_logged(api: Api) -> None:
    _, headers = api.token(api.owner())
    secret = headers["Authorization"].split("_", 2)[2]  # which may have the sign itself
    api.client.request("GET", "/v1/jobs", headers=headers, params={"label": "secret:word"})
    assert secret not in api.logged.getvalue()
    assert "secret:word" not in api.logged.getvalue()


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("127.9.9.9", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("service.example", False),
    ],
)
def test_tokens_are_required_beyond_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
    assert Settings(host=host).needs_tokens is not loopback
    assert Settings(host=host, require_tokens=True).needs_tokens


@pytest.mark.parametrize(
    ("settings", "host", "ours"),
    [
        ({"host": "0.0.0.0"}, b"192.0.2.1:80", True),
        ({"host": "0.0.0.0"}, b"service.example", False),
        ({"host": "0.0.0.0", "allow_host": ["Service.Example"]}, b"service.example:443", True),
        ({"host": "0.0.0.0", "allow_host": ["service.example"]}, b"a.service.example", False),
        ({}, b"192.0.2.1", False),
        ({}, b"", False),
    ],
)
def test_hosts_are_listed(settings: dict[str, Any], host: bytes, ours: bool) -> None:
    async def nothing(*_: object) -> None: ...

    assert Hosts(nothing, Settings(**settings))._is_ours(host) is ours
