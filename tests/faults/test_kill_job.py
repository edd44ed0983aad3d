"""A job killed with -9 at random moments goes on exactly as it would have, and loses and repeats no finished trial."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from autosched.db.store import connect
from autosched.records.outcome import Outcome

SCRIPT = Path(__file__).with_name("simulated_job.py")
TRIALS = 40
KILLS = 2


def command(database: str) -> list[str]:
    return [sys.executable, str(SCRIPT), database, str(TRIALS)]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}


def killed_run(database: Path, n_lines: int) -> list[str]:
    """What a run said before it was killed, after `n_lines` lines or a few more."""
    with subprocess.Popen(
        command(str(database)), stdout=subprocess.PIPE, text=True, env=environment()
    ) as job:
        assert job.stdout is not None
        said = [job.stdout.readline() for _ in range(n_lines)]
        job.send_signal(signal.SIGKILL)
        said += [line for line in job.stdout if line.endswith("\n")]
    assert job.returncode == -signal.SIGKILL, "it runs until it is killed"
    return said


def whole_run(database: str) -> list[str]:
    done = subprocess.run(
        command(database), capture_output=True, text=True, env=environment(), check=True
    )
    return done.stdout.splitlines(keepends=True)


def proposals(said: list[str]) -> list[str]:
    return [line for line in said if line.startswith("trial")]


@pytest.mark.slow
def test_killed_job_goes_on_as_it_would_have(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    rng = random.Random(seed)
    database = tmp_path / "runs.db"
    runs: list[list[str]] = []
    for kill in range(KILLS):
        # A round of six is 18 lines; three kills before its first result would give a trial up.
        n_lines = rng.randrange(1, 14) if kill % 2 else rng.randrange(14, 40)
        runs.append(killed_run(database, n_lines))
        check_rows(database, runs)
    runs.append(whole_run(str(database)))
    assert proposals(runs[-1]) == proposals(whole_run("memory"))


def check_rows(database: Path, runs: list[list[str]]) -> None:
    """The rows against what the runner and the loop said."""
    store = connect(str(database))
    (job,) = store.jobs()
    names = {spec.name: task_id for task_id, spec in job.tasks}
    closed = Counter(
        tuple(line.split()[1:]) for said in runs for line in said if line.startswith("closed")
    )
    assert set(closed.values()) <= {1}, "no finished trial is repeated"
    rows = {(i, str(t.number)): t for i in names.values() for t in store.trials(i)}
    for name, number in closed:
        assert not rows[names[name], number].is_open, "no finished trial is lost"
    finished = [t for t in rows.values() if not t.is_open]
    assert len(finished) - len(closed) <= len(runs), "a kill hides at most one answer"
    assert all(t.measurement and t.measurement.outcome is not Outcome.LOST for t in finished)
    measured = Counter(
        line.split()[1] for said in runs for line in said if line.startswith("measured")
    )
    assert measured.total() - len(measured) <= len(runs), "a kill repeats at most one measurement"
    store.close_connections()
