"""What comes over a connection is bounded before it is anybody's request."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.api.process import Process, running

HEAD_BYTES = 64 << 10


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("connections")
    quick = ("--head-seconds", "0.5", "--body-seconds", "0.5")
    with running(str(folder / "runs.db"), folder, *quick) as process:
        yield process


def said(process: Process, *pieces: bytes) -> bytes:
    """What a client that sends these pieces, and then waits, reads until the connection is closed."""
    with socket.create_connection(("127.0.0.1", process.port), timeout=30) as client:
        found = b""
        with suppress(ConnectionError):
            for piece in pieces:
                client.sendall(piece)
        with suppress(ConnectionError):
            while part := client.recv(1 << 16):
                found += part
        return found


def problem_in(text: bytes) -> tuple[int, dict[str, Any]]:
    head, _, body = text.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head.lower()
    return int(head.split()[1]), json.loads(body)


GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
CLOSE = b"Connection: close\r\n\r\n"
CHUNKED = (
    b"POST /v1/best HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
)


def headers(n_bytes: int) -> bytes:
    line = b"X-A: " + b"a" * 93 + b"\r\n"
    return line * (n_bytes // len(line))


def test_heads_up_to_the_bound_are_read(process: Process) -> None:
    assert said(process, GET, headers(HEAD_BYTES - 1000), CLOSE).startswith(b"HTTP/1.1 200 ")


ENDLESS = {
    "one header": (GET, b"X: ", *[b"a" * (1 << 16)] * 16),
    "one header's name": (GET, *[b"a" * (1 << 16)] * 16),
    "many headers": (GET, headers(1 << 20)),
    "an address": (b"GET /", *[b"a" * (1 << 16)] * 16),
    "at once": (GET + headers(HEAD_BYTES + 1000) + CLOSE,),
}


@pytest.mark.parametrize("pieces", ENDLESS.values(), ids=ENDLESS)
def test_a_larger_head_is_refused_and_its_connection_closed(
    process: Process, pieces: tuple[bytes, ...]
) -> None:
    answer = said(process, *pieces)
    if answer:  # what still came when the connection was closed may have reset it
        status, problem = problem_in(answer)
        assert (status, problem["type"]) == (431, "urn:autosched:problem:head-too-large")
        assert str(HEAD_BYTES) in problem["detail"]


def test_the_bound_is_told(process: Process) -> None:
    assert problem_in(said(process, GET, headers(HEAD_BYTES + 1000), CLOSE))[0] == 431


@pytest.mark.parametrize("tail", [b"0\r\nX: ", b"5;x="], ids=["trailer", "extension"])
def test_what_follows_a_body_is_bounded_too(process: Process, tail: bytes) -> None:
    """The service holds no more of it than a head may have: its memory stays."""
    before = process.resident_bytes
    said(process, CHUNKED, tail, *[b"a" * (1 << 20)] * 64)
    assert process.resident_bytes - before < 32 << 20


@pytest.mark.parametrize("begun", [GET, b"G"], ids=["headers", "method"])
def test_a_head_has_its_time(process: Process, begun: bytes) -> None:
    status, problem = problem_in(said(process, begun))
    assert (status, problem["type"]) == (408, "urn:autosched:problem:too-slow")


def test_a_silent_connection_is_closed(process: Process) -> None:
    assert said(process) == b""


def test_a_second_head_has_its_time(process: Process) -> None:
    answer = said(process, GET + b"\r\n", GET)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b" 408 " in answer


@pytest.mark.parametrize("path", [b"/v1/best", b"/v1/jobs"])
def test_a_body_has_its_time(process: Process, path: bytes) -> None:
    head = b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    answer = said(process, head + b"Content-Length: 100\r\n\r\n", b'{"texts": [')
    status, problem = problem_in(answer)
    assert (status, problem["type"]) == (408, "urn:autosched:problem:too-slow")
    assert "11 bytes" in problem["detail"]


def test_what_is_no_request_is_told_so_in_a_document(process: Process) -> None:
    status, problem = problem_in(said(process, b"\x16\x03\x01 no HTTP\r\n\r\n"))
    assert (status, problem["type"]) == (400, "urn:autosched:problem:bad-request")


def test_its_log_is_json_lines_that_say_where_it_listens(process: Process) -> None:
    lines = process.log_file.read_text().splitlines()
    (listening,) = [e for e in map(json.loads, lines) if e["event"] == "listening"]
    assert (listening["host"], listening["port"]) == ("127.0.0.1", process.port)
    assert not [line for line in lines if "CTRL+C" in line]
