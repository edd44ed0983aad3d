"""`autosched serve`: one command from nothing to a job's answer, and nothing left when it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from autosched.client import Client
from autosched.testing.waiting import until
from tests.api.process import ENVIRONMENT, free_port


@contextmanager
def serving(db: str, folder: Path, *arguments: str) -> Iterator[tuple[psutil.Process, Client]]:
    """The service on simulated devices, open, and a client of it; killed at the end if it still runs."""
    port, log = free_port(), folder / f"log{len(list(folder.iterdir()))}"
    command = ["-m", "autosched", "serve", "--port", str(port), "--db", db, *arguments]
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, *command, "--simulate", "0.02"],
            stderr=errors,
            env=ENVIRONMENT,
        )
    try:
        until(lambda: process.poll() is not None or "serving on" in log.read_text(), seconds=60)
        assert process.poll() is None, log.read_text()
        with Client(f"http://127.0.0.1:{port}") as client:
            yield psutil.Process(process.pid), client
    finally:
        process.kill()
        process.wait()


def end_politely(service: psutil.Process) -> None:
    """SIGTERM: it ends well, and so does everything it had started."""
    family = service.children(recursive=True)
    assert len(family) >= 2
    service.send_signal(signal.SIGTERM)
    assert service.wait(timeout=30) == 0
    until(lambda: not any(p.is_running() and p.status() != "zombie" for p in family))


@pytest.fixture(params=["sqlite", "postgresql"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'served.db'}"
    return str(request.getfixturevalue("postgres_url"))


def test_a_job_goes_on_where_a_stopped_service_left_it(db: str, tmp_path: Path) -> None:
    with serving(db, tmp_path) as (service, client):
        job = client.submit("suite:GMM/1@1", trials=200, seed=3)
        until(lambda: client.job(job.id).trials > 10)
        end_politely(service)
    with serving(db, tmp_path) as (service, client):
        done = client.wait(job.id)
        assert (done.state, done.end_reason, done.trials) == ("succeeded", "trials", 200)
        (answer,) = client.best_many(source="suite:GMM/1@1").tasks
        assert answer.trial == done.tasks[0].trial
        end_politely(service)


def test_a_port_that_is_taken_is_said_and_ends_it(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "autosched", "serve", "--port", port]
        done = subprocess.run(
            [*command, "--db", str(tmp_path / "a.db"), "--simulate", "0.02"],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 2
    assert f"port {port}" in done.stderr
    assert "Traceback" not in done.stderr
