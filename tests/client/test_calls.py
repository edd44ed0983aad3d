"""Calls over real sockets: what is repeated and what is not, how long, and what a refusal becomes."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path

import pytest

from autosched.client import (
    AsyncClient,
    Client,
    InvalidRequest,
    NotThere,
    Patience,
    ServiceAway,
    ServiceError,
)
from autosched.errors import InvalidInput
from tests.client.scripted import (
    DROP,
    JOB,
    Answer,
    Clock,
    Scripted,
    answer,
    client_of,
    problem,
)


def test_a_dropped_connection_is_asked_again_with_growing_waits(
    server: Scripted, clock: Clock
) -> None:
    server.script = [DROP, problem(503, "starting"), problem(502, "proxy"), answer(JOB)]
    with client_of(server.url, clock, Patience(first_wait=1.0)) as client:
        assert client.job("a").state == "succeeded"
    assert [a.path for a in server.asked] == ["/v1/jobs/a"] * 4
    assert clock.slept == [1.0, 2.0, 4.0]


def test_waits_are_spread_by_the_stream_that_is_passed_in(server: Scripted, clock: Clock) -> None:
    server.script = [DROP, DROP, answer(JOB)]
    draws = iter([0.0, 0.5])
    client = Client(
        server.url,
        patience=Patience(first_wait=1.0),
        uniform=lambda: next(draws),
        now=clock.now,
        sleep=clock.sleep,
    )
    with client:
        client.job("a")
    assert clock.slept == [0.5, 1.5]


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        ({"Retry_After": "7"}, 7.0),
        (
            {
                "Retry_After": "Sat, 31 Jan 2026 12:00:09 GMT",
                "Date": "Sat, 31 Jan 2026 12:00:00 GMT",
            },
            9.0,
        ),
        ({"Retry_After": "soon"}, 0.2),
        ({"Retry_After": "-3"}, 0.2),
    ],
)
def test_retry_after_is_honoured(
    headers: dict[str, str], waited: float, server: Scripted, clock: Clock
) -> None:
    server.script = [problem(429, "busy", **headers), answer(JOB)]
    with client_of(server.url, clock) as client:
        client.job("a")
    assert clock.slept == [waited]


def test_a_wait_beyond_the_deadline_is_not_begun(server: Scripted, clock: Clock) -> None:
    server.script = [problem(503, "backup", Retry_After="3600")]
    with client_of(server.url, clock) as client, pytest.raises(ServiceError, match="backup") as got:
        client.job("a")
    assert got.value.status == 503
    assert clock.slept == []


def test_a_call_ends_at_its_deadline_and_says_what_was_tried(
    server: Scripted, clock: Clock
) -> None:
    server.script = [DROP]
    with (
        client_of(server.url, clock, Patience(deadline=10.0)) as client,
        pytest.raises(ServiceAway, match=r"tried \d+ times in 10 s") as got,
    ):
        client.job("a")
    assert server.url in str(got.value)
    assert sum(clock.slept) < 10.0


def test_nobody_listening_is_away() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    clock = Clock()
    with client_of(url, clock, Patience(deadline=1.0)) as client, pytest.raises(ServiceAway):
        client.info()
    assert clock.slept


def test_submitting_is_one_job_however_often_it_is_sent(server: Scripted, clock: Clock) -> None:
    server.script = [DROP, problem(504, "late"), answer(JOB, 202)]
    with client_of(server.url, clock) as client:
        client.submit("suite:GMM/1@1", trials=4, labels={"team": "vision"})
        client.submit("suite:GMM/1@1", trials=4)
    first, *again, second = [a.headers["idempotency-key"] for a in server.asked]
    assert again == [first, first]
    assert second != first
    body = json.loads(server.asked[0].body)
    assert body == {
        "source": "suite:GMM/1@1",
        "trials": 4,
        "seed": 0,
        "priority": 0,
        "labels": {"team": "vision"},
    }


def test_what_would_count_twice_is_not_repeated_once_it_was_sent(
    server: Scripted, clock: Clock
) -> None:
    server.script = [DROP, answer(JOB, 202)]
    with client_of(server.url, clock) as client, pytest.raises(ServiceAway):
        client.resume("a", trials=9)
    assert len(server.asked) == 1
    assert clock.slept == []


def test_a_model_is_streamed_beside_its_request(
    server: Scripted, clock: Clock, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(bytes(range(256)) * 4096)
    server.script = [problem(503, "starting"), answer(JOB, 202)]
    with client_of(server.url, clock) as client:
        client.submit(path, trials=4)
    for asked in server.asked:
        assert asked.headers["content-type"].startswith("multipart/form-data")
        assert path.read_bytes() in asked.body
        assert b'name="request"' in asked.body
        assert b'"trials": 4' in asked.body


def test_a_graph_file_travels_as_json(server: Scripted, clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text('{"autosched_graph": 1}')
    server.script = [answer(JOB, 202)]
    with client_of(server.url, clock) as client:
        client.submit(str(path), trials=4)
    assert json.loads(server.asked[0].body)["graph"] == {"autosched_graph": 1}


@pytest.mark.parametrize(
    ("name", "text"),
    [("nowhere.onnx", None), ("model.png", "x"), ("g.json", "{"), ("g.json", "[]")],
)
def test_a_source_that_cannot_be_read_is_bad_input(
    name: str, text: str | None, server: Scripted, clock: Clock, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with client_of(server.url, clock) as client, pytest.raises(InvalidInput, match=name):
        client.submit(tmp_path / name, trials=4)
    assert server.asked == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequest),
        (401, ServiceError),
        (403, ServiceError),
        (404, NotThere),
        (409, ServiceError),
        (413, InvalidRequest),
        (431, InvalidRequest),
        (422, InvalidRequest),
        (500, ServiceError),
        (307, ServiceError),
    ],
)
def test_a_refusal_is_an_error_of_its_kind(
    status: int, kind: type[ServiceError], server: Scripted, clock: Clock
) -> None:
    server.script = [problem(status, "because of this")]
    with (
        client_of(server.url, clock) as client,
        pytest.raises(kind, match="because of this") as got,
    ):
        client.job("a")
    assert got.value.status == status
    assert got.value.type == "urn:x"
    assert isinstance(got.value, InvalidInput) is (status in {400, 404, 413, 422, 431})
    assert len(server.asked) == 1


def test_each_broken_rule_is_told(server: Scripted, clock: Clock) -> None:
    broken = {"pointer": "/trials", "rule": "ge", "value": 0, "message": "must be at least 1"}
    server.script = [answer({"detail": "The input breaks a rule.", "errors": [broken]}, 422)]
    with client_of(server.url, clock) as client, pytest.raises(InvalidRequest) as got:
        client.submit("suite:GMM/1@1", trials=0)
    assert str(got.value) == "The input breaks a rule; /trials: must be at least 1"
    assert got.value.errors[0].value == 0


@pytest.mark.parametrize(
    "body", [b"<html>a proxy</html>", b"", b"[]", b'{"id": 3}', b"[" * 100_000, b"\xff\xfe"]
)
@pytest.mark.parametrize("status", [200, 404, 500])
def test_what_is_no_answer_of_the_service_is_an_error_in_one_line(
    body: bytes, status: int, server: Scripted, clock: Clock
) -> None:
    server.script = [Answer(status, body)]
    with client_of(server.url, clock) as client, pytest.raises(ServiceError) as got:
        client.job("a")
    assert "\n" not in str(got.value)


def test_a_cut_answer_is_asked_again(server: Scripted, clock: Clock) -> None:
    server.script = [Answer(200, b'{"id": "a', cut=True), answer(JOB)]
    with client_of(server.url, clock) as client:
        assert client.job("a").terminal


def test_fields_and_words_of_later_versions_are_borne(server: Scripted, clock: Clock) -> None:
    server.script = [answer({**JOB, "state": "hibernating", "mood": "calm"})]
    with client_of(server.url, clock) as client:
        assert client.job("a").state == "hibernating"


@pytest.mark.parametrize("text", ["", "a/b", "..", "a b", "x" * 81, "%2e"])
def test_an_id_that_is_none_never_becomes_a_path(text: str, server: Scripted, clock: Clock) -> None:
    with client_of(server.url, clock) as client, pytest.raises(InvalidInput):
        client.job(text)
    assert server.asked == []


def test_the_awaited_client_does_the_same(server: Scripted, clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"model" * 1000)
    server.script = [DROP, problem(503, "x", Retry_After="3"), answer(JOB), answer(JOB, 202)]

    async def run() -> None:
        client = AsyncClient(
            server.url, uniform=lambda: 1.0, now=clock.now, sleep=clock.sleep_awaited
        )
        async with client:
            assert (await client.job("a")).terminal
            await client.submit(path, trials=1)

    asyncio.run(run())
    assert clock.slept == [0.2, 3.0]
    assert path.read_bytes() in server.asked[-1].body


def test_a_path_before_the_service_is_kept(server: Scripted, clock: Clock) -> None:
    server.script = [answer(JOB)]
    with client_of(f"{server.url}/tuner/", clock) as client:
        client.job("a")
    assert server.asked[0].path == "/tuner/v1/jobs/a"


def test_the_token_is_in_the_header_alone(server: Scripted, clock: Clock) -> None:
    server.script = [problem(401, "A valid token is needed")]
    with client_of(server.url, clock, token="ast_secret") as client:
        with pytest.raises(ServiceError) as got:
            client.jobs(state="running", limit=3)
        assert "ast_secret" not in f"{got.value}{client.address!r}"
    assert server.asked[0].headers["authorization"] == "Bearer ast_secret"
    assert server.asked[0].path == "/v1/jobs?state=running&limit=3"


def test_whoever_waits_hears_why(server: Scripted, clock: Clock) -> None:
    server.script = [DROP, problem(503, "restarting"), answer(JOB)]
    heard: list[str] = []
    with client_of(server.url, clock, on_wait=heard.append) as client:
        client.job("a")
    assert server.url in heard[0]
    assert heard[1] == "restarting"


@pytest.mark.parametrize("seconds", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_not_sent(seconds: float, server: Scripted, clock: Clock) -> None:
    with client_of(server.url, clock) as client, pytest.raises(InvalidInput, match="number"):
        client.submit("suite:GMM/1@1", trials=1, seconds=seconds)
    assert server.asked == []


def test_stray_bytes_are_not_sent(server: Scripted, clock: Clock) -> None:
    with client_of(server.url, clock) as client, pytest.raises(InvalidInput, match="label"):
        client.jobs(label="a:\udcff")
    assert server.asked == []
