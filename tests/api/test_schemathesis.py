"""The API held against its own document by schemathesis: every phase, stateful ones too, with and without tokens.

A simulated dispatcher works behind it. The long form: `pytest -m campaign tests/api/test_schemathesis.py`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autosched.db.store import open_store
from autosched.jobs.access import Token, digest_of, new_secret
from autosched.testing.waiting import until
from tests.api.conftest import worker_of
from tests.api.process import ENVIRONMENT, Process, running

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
ALL_PHASES = "examples,coverage,fuzzing,stateful"
BOUNDED = ("--event-stream-seconds", "0.2", "--owner-jobs", "1000000", "--import-seconds", "20")


@contextmanager
def service(folder: Path, *arguments: str, is_worked: bool = True) -> Iterator[tuple[Process, str]]:
    """A service and an admin's token. Unless `is_worked`, no dispatcher is behind it, and all jobs wait."""
    db = str(folder / "service.db")
    token_id, text = new_secret()
    with open_store(db) as store:
        token = Token(token_id, "fuzz", frozenset({"admin"}), digest_of(text), datetime.now(UTC))
        store.add_token(token)
        with dispatcher(db, folder) if is_worked else nullcontext():
            if not is_worked:
                store.register(worker_of())
            with running(db, folder, *BOUNDED, *arguments) as process:
                until(store.workers, seconds=60)
                yield process, text


@contextmanager
def dispatcher(db: str, folder: Path) -> Iterator[None]:
    """One with a simulated device."""
    command = [sys.executable, "-m", "autosched_workers", "--db", db, "--simulate", "0.002"]
    with (folder / "dispatcher.log").open("wb") as log:
        child = subprocess.Popen(command, stderr=log, stdout=log, env=ENVIRONMENT)
    try:
        yield
    finally:
        child.terminate()
        child.wait(30)


def hold(process: Process, *arguments: str, phases: str = ALL_PHASES, seconds: float) -> None:
    """Runs schemathesis, which fails the test with what it found."""
    program = Path(sys.executable).with_name("schemathesis")
    command = [
        *(str(program), "--config-file", str(CONFIGURATION), "run"),
        *(f"{process.url}/v1/openapi.json", "--phases", phases, "--checks", "all"),
        *("--request-timeout", "30", "--workers", "1", *arguments),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout[-12_000:] + done.stderr[-2_000:]
    faults = [line for line in process.log if line["event"] in {"fault", "import_failed"}]
    assert not faults, faults[:3]


def test_loopback_keeps_its_word(tmp_path: Path) -> None:
    with service(tmp_path) as (process, _):
        few = ("--max-examples", "1", "--seed", "1")
        hold(process, *few, phases="examples,fuzzing,stateful", seconds=240)


def test_a_service_with_tokens_keeps_its_word(tmp_path: Path) -> None:
    required = ("--require-tokens", "true")
    with service(tmp_path, *required, is_worked=False) as (process, token):
        header = ("--header", f"Authorization: Bearer {token}")
        few = ("--max-examples", "1", "--seed", "2")
        hold(process, *header, *few, phases="examples,coverage", seconds=240)


@pytest.mark.campaign
@pytest.mark.parametrize("with_token", [False, True])
def test_campaign(tmp_path: Path, with_token: bool) -> None:
    arguments = ("--require-tokens", "true") if with_token else ()
    with service(tmp_path, *arguments) as (process, token):
        header = ("--header", f"Authorization: Bearer {token}") if with_token else ()
        hold(process, *header, "--max-examples", "200", seconds=3600)


@pytest.mark.campaign
def test_campaign_without_a_token_where_one_is_needed(tmp_path: Path) -> None:
    with service(tmp_path, "--require-tokens", "true") as (process, _):
        hold(process, "--max-examples", "50", seconds=3600)
