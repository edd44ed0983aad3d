"""What a call returned is on the disk: writers killed with -9 at random moments lose and repeat nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autosched.db.store import connect
from autosched.records.record import trial_id
from autosched.testing.records import open_job

WRITER = """
import sys
from autosched.db.store import connect
from autosched.testing.records import confirmation, ok, open_job, trial

store = connect(sys.argv[1])
task = open_job(store).tasks[0][0]
while True:
    stored = store.trials(task)
    if not any(t.is_open for t in stored):
        n, r = len(stored), len(stored) // 4
        store.propose(task, r, [trial(task, n + i, round=r) for i in range(4)])
    for t in store.trials(task):
        if t.is_open:
            print("sent", t.number, flush=True)
            assert store.close(task, t.number, ok(100.0 + t.number))
            print("closed", t.number, flush=True)
    last = t.number
    best = store.confirm(confirmation(task, {0: 100.0 + last, last: 50.0 / last}))
    print("best", best.trial_id, flush=True)
"""


@pytest.mark.slow
def test_kill_at_random_moments(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    rng = random.Random(seed)
    database = tmp_path / "runs.db"
    journal: list[str] = []
    for _ in range(5):
        command = [sys.executable, "-c", WRITER, str(database)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            journal += [writer.stdout.readline() for _ in range(rng.randrange(1, 60))]
            writer.send_signal(signal.SIGKILL)
            journal += [line for line in writer.stdout if line.endswith("\n")]
        assert writer.returncode == -signal.SIGKILL, "it runs until it is killed"
        _check(database, journal)


def _check(database: Path, journal: list[str]) -> None:
    """The rows against what the writers said they had done."""
    lines = [line.split() for line in journal]
    closed = [int(n) for word, n in lines if word == "closed"]
    sent = [int(n) for word, n in lines if word == "sent"]
    assert len(set(closed)) == len(closed), "no trial is closed twice"
    store = connect(str(database))
    task_id = open_job(store).tasks[0][0]
    rows = {t.number: t for t in store.trials(task_id)}
    finished = {n for n, t in rows.items() if not t.is_open}
    assert set(closed) <= finished <= set(sent)
    assert len(finished - set(closed)) <= len(sent) - len(closed)
    assert sorted(rows) == list(range(len(rows))), "rounds are there whole"
    assert len(rows) % 4 == 0
    for number in finished:
        runs = store.measurements(trial_id(task_id, number))
        assert [r.purpose for r in runs].count("search") == 1
        assert runs[0].measurement.timing is not None
    published = [i for word, i in lines if word == "best"]
    best = store.best(open_job(store).tasks[0][1].workload_key)
    if published:
        standing = int(best[0].trial_id.rpartition(".")[2])
        assert standing >= int(published[-1].rpartition(".")[2])
    store.close_connections()
