"""`autosched serve`: one command from nothing to a job's answer, and nothing left when it ends."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from autosched.testing.waiting import until
from tests.api.process import ENVIRONMENT
from tests.service.serving import end_politely, serving


@pytest.fixture(params=["sqlite", "postgresql"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'served.db'}"
    return str(request.getfixturevalue("postgres_url"))


def test_a_job_goes_on_where_a_stopped_service_left_it(db: str, tmp_path: Path) -> None:
    with serving(db, tmp_path) as (service, client):
        job = client.submit("suite:GMM/1@1", trials=64, seed=3)
        until(lambda: client.job(job.id).trials > 10)
        end_politely(service)
    with serving(db, tmp_path) as (service, client):
        done = client.wait(job.id)
        assert (done.state, done.end_reason, done.trials) == ("succeeded", "trials", 64)
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
