"""Lookup at deployment: fresh while the service is there, from the cache while it is away, never made up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from autosched.client import BestLookup, ServiceError
from autosched.client.cache import BestCache, Question
from autosched.client.lookup import LookupMiss
from autosched.errors import InvalidInput
from autosched.wire.best import BestDocument
from tests.client.scripted import DROP, Answer, Asked, Clock, Scripted, answer, client_of, problem

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def document(key: str, median_us: float = 5.0) -> dict[str, Any]:
    return {
        "name": "",
        "workload_key": key,
        "match": "exact",
        "reason": "same",
        "trial": "j.0.1",
        "derivation": [{"rule": "tile", "version": 1}],
        "values": {"i.m": 4},
        "median_us": median_us,
        "measured_at": "2026-01-31T11:00:00Z",
    }


def answering(asked: Asked) -> Answer:
    keys = json.loads(asked.body)["workloads"]
    return answer({"tasks": [document(k) for k in keys]})


@pytest.fixture
def lookup(server: Scripted, clock: Clock, tmp_path: Path) -> BestLookup:
    server.handle = answering
    return BestLookup(client_of(server.url, clock), tmp_path / "cache", now=lambda: NOON)


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").glob("*.json"))


def test_a_fresh_answer_is_the_service_s_own(
    lookup: BestLookup, server: Scripted, tmp_path: Path
) -> None:
    found = lookup.one("w1", "t1", threads=2)
    assert found.answer == BestDocument.model_validate(document("w1"))
    assert not found.from_cache
    assert found.stale_since is None
    assert json.loads(server.asked[0].body) == {"workloads": ["w1"], "target": "t1", "threads": 2}
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("away", [DROP, problem(500, "x"), problem(503, "x"), problem(429, "x")])
def test_while_the_service_is_away_the_cache_answers_and_says_so(
    away: Answer, lookup: BestLookup, server: Scripted
) -> None:
    fresh = lookup.many(["w1", "w2"], "t1")
    server.handle = lambda asked: away
    again = lookup.many(["w2", "w1", "w2"], "t1")
    assert [f.answer for f in again] == [fresh[i].answer for i in (1, 0, 1)]
    assert all(f.from_cache and f.stale_since == NOON and f.reason for f in again)


def test_the_service_is_believed_again_when_it_is_back(
    lookup: BestLookup, server: Scripted
) -> None:
    lookup.one("w1", "t1")
    server.handle = lambda asked: DROP
    assert lookup.one("w1", "t1").from_cache
    server.handle = lambda asked: answer({"tasks": [document("w1", 4.0)]})
    assert lookup.one("w1", "t1").answer.median_us == 4.0
    server.handle = lambda asked: DROP
    assert lookup.one("w1", "t1").answer.median_us == 4.0


@pytest.mark.parametrize(
    "asked",
    [
        ("w2", "t1", None, None),
        ("w1", "t2", None, None),
        ("w1", "t1", 4, None),
        ("w1", "t1", None, "c1"),
    ],
)
def test_a_miss_in_both_is_an_error_that_names_what_is_missing(
    asked: tuple[str, str, int | None, str | None], lookup: BestLookup, server: Scripted
) -> None:
    lookup.one("w1", "t1")
    server.handle = lambda _: DROP
    workload, target, threads, toolchain = asked
    with pytest.raises(LookupMiss, match=workload):
        lookup.one(workload, target, threads=threads, toolchain=toolchain)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_not_covered_up_by_the_cache(
    status: int, lookup: BestLookup, server: Scripted
) -> None:
    lookup.one("w1", "t1")
    server.handle = lambda asked: problem(status, "no")
    with pytest.raises(ServiceError):
        lookup.one("w1", "t1")


def test_an_answer_for_something_else_is_no_answer(lookup: BestLookup, server: Scripted) -> None:
    server.handle = lambda asked: answer({"tasks": [document("w9")]})
    with pytest.raises(ServiceError, match="other workloads"):
        lookup.one("w1", "t1")


DAMAGE = {
    "empty": lambda text: b"",
    "half": lambda text: text[: len(text) // 2].encode(),
    "not JSON": lambda text: b"\x00\xff" * 50,
    "a list": lambda text: b"[1, 2]",
    "deep": lambda text: b"[" * 100_000,
    "a changed value": lambda text: text.replace('"i.m": 4', '"i.m": 5').encode(),
    "another question": lambda text: text.replace('"workload": "w1"', '"workload": "w2"').encode(),
    "another format": lambda text: text.replace(
        '"autosched_best": 1', '"autosched_best": 2'
    ).encode(),
    "no digest": lambda text: json.dumps(
        {k: v for k, v in json.loads(text).items() if k != "digest"}
    ).encode(),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_or_foreign_file_is_put_aside(
    kind: str, lookup: BestLookup, server: Scripted, tmp_path: Path
) -> None:
    lookup.one("w1", "t1")
    (path,) = files(tmp_path)
    damaged = DAMAGE[kind](path.read_text())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    server.handle = lambda asked: DROP
    with pytest.raises(LookupMiss):
        lookup.one("w1", "t1")
    assert files(tmp_path) == []
    assert (tmp_path / "cache" / "quarantine" / path.name).read_bytes() == damaged
    server.handle = answering
    assert not lookup.one("w1", "t1").from_cache
    server.handle = lambda asked: DROP
    assert lookup.one("w1", "t1").from_cache


def test_the_answer_of_another_service_is_not_used(
    lookup: BestLookup, server: Scripted, clock: Clock, tmp_path: Path
) -> None:
    lookup.one("w1", "t1")
    server.handle = lambda asked: DROP
    other = BestLookup(client_of(f"{server.url}/other", clock), tmp_path / "cache")
    with pytest.raises(LookupMiss):
        other.one("w1", "t1")


def test_a_cache_that_cannot_be_written_does_not_hide_the_answer(
    server: Scripted, clock: Clock, tmp_path: Path
) -> None:
    server.handle = answering
    (tmp_path / "cache").write_text("a file where the directory should be")
    found = BestLookup(client_of(server.url, clock), tmp_path / "cache").one("w1", "t1")
    assert found.answer.workload_key == "w1"
    assert "not kept" in found.reason


WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from autosched.client.cache import BestCache, Question
from autosched.wire.best import BestDocument

cache, answer = BestCache(Path(sys.argv[1])), BestDocument.model_validate_json(sys.argv[2])
question = Question("http://s", "w1", "t1")
print("writing", flush=True)
for turn in range(int(sys.argv[3])):
    changed = answer.model_copy(update={"values": {str(i): turn for i in range(200)}})
    cache.keep(question, changed, datetime.now(UTC))
"""


def writer(directory: Path, turns: int) -> subprocess.Popen[bytes]:
    answer_text = json.dumps(document("w1"))
    command = [sys.executable, "-c", WRITER, str(directory), answer_text, str(turns)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def assert_whole(cache: BestCache) -> None:
    kept = cache.find(Question("http://s", "w1", "t1"))
    assert kept is None or len(set(kept.answer.values.values())) == 1


def test_a_writer_that_is_killed_leaves_a_whole_answer(tmp_path: Path) -> None:
    cache = BestCache(tmp_path / "cache")
    process = writer(cache.directory, 1_000_000)
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    question = Question("http://s", "w1", "t1")
    while cache.find(question) is None:
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert cache.find(question) is not None
    assert_whole(cache)
    assert not (cache.directory / "quarantine").exists()


def test_processes_share_a_cache(tmp_path: Path) -> None:
    cache = BestCache(tmp_path / "cache")
    processes = [writer(cache.directory, 200) for _ in range(2)]
    while any(p.poll() is None for p in processes):
        assert_whole(cache)
    assert [p.wait() for p in processes] == [0, 0]
    for process in processes:
        process.communicate()
    assert cache.find(Question("http://s", "w1", "t1")) is not None
    assert not (cache.directory / "quarantine").exists()
    assert not list(cache.directory.glob("*.tmp"))


def test_threads_share_a_lookup(lookup: BestLookup) -> None:
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(10):
                lookup.many(["w1", "w2", "w3"], "t1")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_directory_that_no_file_system_has_is_named(server: Scripted, clock: Clock) -> None:
    with pytest.raises(InvalidInput, match=r"cache directory 'a\\x00b'"):
        BestLookup(client_of(server.url, clock), "a\0b")
