"""Campaigns of minutes on a real machine, run by hand: a tune killed again and again, and one beside a busy core."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from autosched.db.store import open_store
from autosched.entry.build import compiled
from autosched.entry.machine import open_machine, set_up
from autosched.entry.winners import choose
from autosched.entry.work import work_of
from autosched.measure.journal import read_lines
from autosched.measure.protocol import Artefact, Check, TimingPolicy
from autosched.records.record import Trial
from autosched.tuning.check import make_check

pytestmark = pytest.mark.campaign

KILLS = 10
TRIALS = 320
"""More than ten runs of a few seconds can finish."""
CASES = ("suite:GMM/3@1", "suite:C2D/2@1")
LOADED_TRIALS = 64


def tune(source: str, trials: int, database: Path, *more: str) -> list[str]:
    command = [sys.executable, "-m", "autosched", "tune", source, "--json", "--seed", "3"]
    return [*command, "--trials", str(trials), "--db", str(database), *more]


def finished(database: Path) -> dict[tuple[str, int], Trial]:
    """The closed trials of every task."""
    with open_store(str(database)) as store:
        tasks = [task_id for job in store.jobs() for task_id, _ in job.tasks]
        return {(i, t.number): t for i in tasks for t in store.trials(i) if not t.is_open}


def test_ten_kills_lose_and_repeat_no_finished_trial(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    rng = random.Random(seed)
    database, journal = tmp_path / "killed.db", tmp_path / "journal"
    command = tune(CASES[0], TRIALS, database, "--journal", str(journal))
    kills, before = 0, dict[tuple[str, int], Trial]()
    while kills < KILLS:
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
            with pytest.raises(subprocess.TimeoutExpired):
                job.wait(rng.uniform(3.0, 12.0))
            job.send_signal(signal.SIGKILL)
        assert job.returncode == -signal.SIGKILL
        kills += 1
        now = finished(database) if database.exists() else {}
        assert before.items() <= now.items(), "no finished trial is lost or measured anew"
        check_journal(journal, now, kills)
        before = now
        print(f"kill {kills}: {len(now)} trials are finished")
    report = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    rows = finished(database)
    assert report["tasks"][0]["trials"] == TRIALS
    assert sorted(number for _, number in rows) == list(range(TRIALS + 1)), "and trial 0"
    executions = check_journal(journal, rows, kills)
    assert set(executions) <= digests(rows).keys(), "whatever ran has its row in the end"
    print(f"{len(rows)} rows, {executions.total()} runs, {kills} kills")
    print(Counter(str(t.measurement.outcome) for t in rows.values() if t.measurement))


def check_journal(path: Path, rows: dict[tuple[str, int], Trial], kills: int) -> Counter[str]:
    """Runs of candidates by the digest of their text: every row was run, and a kill repeats at most one run."""
    ran = Counter(e["digest"] for e in read_lines(path) if e["kernel"] == "kernel")
    stored = digests(rows)
    assert not stored - ran, "no row without a run"
    repeated = sum(n - 1 for n in (ran - stored).values() if n > 1)
    assert repeated <= kills
    return ran


def digests(rows: dict[tuple[str, int], Trial]) -> Counter[str]:
    measured = (t.measurement for t in rows.values() if not t.reused_from)
    return Counter(m.source_digest for m in measured if m is not None and m.timing is not None)


@contextmanager
def busy_core() -> Iterator[None]:
    """Another program that wants one core all the time."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as load:
        os.sched_setaffinity(load.pid, {min(os.sched_getaffinity(0))})
        try:
            yield
        finally:
            load.kill()


@pytest.mark.parametrize("source", CASES)
def test_winners_beside_a_busy_core_are_as_good(source: str, tmp_path: Path) -> None:
    quiet, loaded = tmp_path / "quiet.db", tmp_path / "loaded.db"
    subprocess.run(tune(source, LOADED_TRIALS, quiet), capture_output=True, check=True)
    with busy_core():
        subprocess.run(tune(source, LOADED_TRIALS, loaded), capture_output=True, check=True)
    shares = [
        t.measurement.timing.contended_share
        for t in finished(loaded).values()
        if t.measurement is not None and t.measurement.timing is not None
    ]
    first, second = retimed(source, (quiet, loaded))
    share = float(np.mean(shares))
    print(f"{source}: {first * 1e6:.0f} us tuned quietly, {second * 1e6:.0f} us beside a load")
    print(f"ratio {second / first:.3f}, {share:.2f} of the samples were contended")
    assert share > 0
    assert second <= 1.10 * first


def retimed(source: str, databases: tuple[Path, ...]) -> list[float]:
    """The winners of these databases side by side on the machine as it is now."""
    setup, work = set_up(), work_of(source)
    subject = work.subjects[0]
    check: Check = make_check(subject.workload, np.random.default_rng(0), subject.reference)
    with open_machine(setup) as machine:
        artefacts: list[Artefact] = []
        for database in databases:
            with open_store(str(database)) as store:
                artefacts += compiled(choose(work, setup, store), setup)
        policy = TimingPolicy(threads=setup.target.threads, min_samples=25)
        timings = machine.runner.side_by_side(artefacts, check.sets[0], policy)
    assert all(timings)
    return [t.median_seconds for t in timings if t is not None]
