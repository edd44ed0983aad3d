"""Event streams of a real server: in order, taken up again, ended with the job or the process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import delete

from autosched.db.service_schema import EventRow
from autosched.db.store import SqlTuningStore, connect
from autosched.testing.submissions import claim, submit
from autosched.testing.waiting import until
from tests.api.conftest import worker_of
from tests.api.process import Process, running

SECONDS = 30.0


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, SqlTuningStore]]:
    folder = tmp_path_factory.mktemp("events")
    db = str(folder / "service.db")
    store = connect(db)
    store.register(worker_of())
    quick = ("--event-comment-seconds", "0.2", "--event-poll-seconds", "0.05")
    with running(db, folder, *quick, "--owner-streams", "4") as process:
        yield process, store
    store.close_connections()


class Follower:
    """Reads a stream in a thread."""

    def __init__(self, process: Process, job_id: str, last: int | None = None) -> None:
        self.lines: list[str] = []
        self.status = 0
        self.is_over = False
        self._headers = {} if last is None else {"Last-Event-ID": str(last)}
        self._url = f"{process.url}/v1/jobs/{job_id}/events"
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with httpx.stream("GET", self._url, headers=self._headers, timeout=SECONDS) as answer:
            self.status = answer.status_code
            for line in answer.iter_lines():
                self.lines.append(line)
                if self._leave.is_set():
                    return
        self.is_over = True

    @property
    def events(self) -> list[tuple[str, str, dict[str, Any]]]:
        """(id, type, data) of each whole event."""
        found = []
        for block in "\n".join(self.lines).split("\n\n"):
            fields = dict(x.split(": ", 1) for x in block.split("\n") if x and x[0] != ":")
            if "data" in fields:
                found.append((fields.get("id", ""), fields["event"], json.loads(fields["data"])))
        return found

    @property
    def types(self) -> list[str]:
        return [kind for _, kind, _ in self.events]

    def leave(self) -> None:
        self._leave.set()

    def wait_to_end(self) -> None:
        self._thread.join(SECONDS)
        assert self.is_over


def test_a_job_is_followed_to_its_end(service: tuple[Process, SqlTuningStore]) -> None:
    process, store = service
    job = submit(store, "local")
    follower = Follower(process, job.id)
    until(lambda: follower.types == ["job"])
    fence = claim(store, job.id).fence
    store.append_event(job.id, "progress", {"trials": 3, "of": 8})
    until(lambda: len(follower.types) == 3)
    assert not follower.is_over
    store.end_claimed(job.id, fence, "succeeded", "trials")
    follower.wait_to_end()
    ids = [int(i) for i, _, _ in follower.events]
    assert ids == list(range(1, len(ids) + 1))
    assert follower.types[-1] == "end"
    _, _, progress = follower.events[2]
    assert progress["trials"] == 3
    assert progress["job"] == job.id
    assert progress["at"].endswith("Z")


def test_a_stream_is_taken_up_where_it_was_left(service: tuple[Process, SqlTuningStore]) -> None:
    process, store = service
    job = submit(store, "local")
    for n in range(5):
        store.append_event(job.id, "progress", {"trials": n, "of": 8})
    store.cancel(job.id)
    follower = Follower(process, job.id, last=4)
    follower.wait_to_end()
    assert follower.events[0][0] == "5"
    assert follower.types[-1] == "end"
    done = Follower(process, job.id, last=int(follower.events[-1][0]))
    done.wait_to_end()
    assert (done.status, done.lines) == (204, [])


def test_a_resumed_job_goes_on_in_the_same_stream(service: tuple[Process, SqlTuningStore]) -> None:
    process, store = service
    job = submit(store, "local")
    store.cancel(job.id)
    store.resume(job.id, trials=None, seconds=None)
    follower = Follower(process, job.id)
    until(lambda: follower.types and follower.types[-1] == "job")
    assert "end" in follower.types
    assert not follower.is_over
    store.cancel(job.id)
    follower.wait_to_end()


def test_what_is_forgotten_is_said_to_be(service: tuple[Process, SqlTuningStore]) -> None:
    process, store = service
    job = submit(store, "local")
    for n in range(5):
        store.append_event(job.id, "progress", {"trials": n, "of": 8})
    with store.engine.begin() as connection:
        old = (EventRow.job_id == job.id) & (EventRow.number <= 4)
        connection.execute(delete(EventRow).where(old))
    store.cancel(job.id)
    late = Follower(process, job.id, last=2)
    late.wait_to_end()
    assert late.types[0] == "reset"
    assert late.events[1][0] == "5"
    recent = Follower(process, job.id, last=4)
    recent.wait_to_end()
    assert "reset" not in recent.types


@pytest.mark.parametrize("is_ended", [True, False])
def test_an_event_that_never_was_resets_its_client(
    service: tuple[Process, SqlTuningStore], is_ended: bool
) -> None:
    process, store = service
    job = submit(store, "local")
    if is_ended:
        store.cancel(job.id)
    follower = Follower(process, job.id, last=5000)
    until(lambda: follower.types[:2] == ["reset", "job"])
    if not is_ended:
        assert not follower.is_over
        store.cancel(job.id)
    follower.wait_to_end()
    assert [i for i, _, _ in follower.events] == ["", "1", "2", "3"]
    assert follower.types[-1] == "end"


def test_silence_is_broken_by_comments(service: tuple[Process, SqlTuningStore]) -> None:
    process, store = service
    job = submit(store, "local")
    follower = Follower(process, job.id)
    until(lambda: sum(line.startswith(":") for line in follower.lines) >= 2)
    store.cancel(job.id)
    follower.wait_to_end()


def test_an_owner_follows_a_bounded_number_of_jobs(
    service: tuple[Process, SqlTuningStore],
) -> None:
    process, store = service
    job = submit(store, "local")
    followers = [Follower(process, job.id) for _ in range(4)]
    until(lambda: all(f.lines for f in followers))
    answer = httpx.get(f"{process.url}/v1/jobs/{job.id}/events", timeout=SECONDS)
    assert answer.status_code == 429
    for follower in followers:
        follower.leave()

    def is_free() -> bool:
        with httpx.stream("GET", f"{process.url}/v1/jobs/{job.id}/events") as found:
            return found.status_code == 200

    until(is_free)
    store.cancel(job.id)


def test_streams_end_with_the_process(tmp_path: Path) -> None:
    db = str(tmp_path / "service.db")
    store = connect(db)
    job = submit(store, "local")
    with running(db, tmp_path) as process:
        follower = Follower(process, job.id)
        until(lambda: follower.types == ["job"])
        assert process.end(seconds=8.0) == 0
        follower.wait_to_end()
        assert follower.types == ["job"]
    store.close_connections()
