"""Many processes on one SQLite file: none fails, none loses a result."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from autosched.db.engine import in_write
from autosched.db.store import connect
from autosched.errors import StoreError
from autosched.testing.records import measured_task, ok, open_job, open_task, trial

STARTER = """
import sys
from autosched.db.store import connect
from autosched.testing.records import measured_task
measured_task(connect(sys.argv[1]), [100.0 + i for i in range(10)], seed=int(sys.argv[2]))
"""


def test_processes_that_start_together_on_a_fresh_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    starters = [
        subprocess.Popen([sys.executable, "-c", STARTER, str(path), str(i)]) for i in range(4)
    ]
    assert [s.wait() for s in starters] == [0] * 4
    store = connect(str(path))
    jobs = store.jobs()
    assert len(jobs) == 4
    assert all(not t.is_open for job in jobs for t in store.trials(job.tasks[0][0]))
    measured = store.history("x86-64")
    assert len({r.candidate.key for r in measured if r.candidate.key != "n1-0"}) == 9
    store.close_connections()


def test_same_command_twice_at_once_is_one_job(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    first, second = connect(path), connect(path)
    assert open_job(first) == open_job(second)
    for store in (first, second):
        store.close_connections()


def test_locked_database_is_a_store_error_and_the_call_may_be_repeated(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    store = connect(str(path))
    task_id = open_task(store)
    store.propose(task_id, 0, [trial(task_id, 0)])
    store.engine.dispose()
    other = sqlite3.connect(path, isolation_level=None)
    with store.engine.connect() as connection:
        connection.exec_driver_sql("pragma busy_timeout = 0")
    other.execute("begin immediate")
    with pytest.raises(StoreError, match="locked"):
        store.close(task_id, 0, ok())
    other.execute("rollback")
    assert store.close(task_id, 0, ok())
    other.close()
    store.close_connections()


def test_readers_go_on_while_a_writer_holds_the_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    store = connect(path)
    task_id = measured_task(store, [100.0])
    seen = in_write(store.engine, lambda _: connect_and_count(path, task_id))
    assert seen == 1
    store.close_connections()


def connect_and_count(path: str, task_id: str) -> int:
    with sqlite3.connect(path) as reader:
        rows = reader.execute("select count(*) from trials where task_id = ?", [task_id])
        count: int = rows.fetchone()[0]
    return count


def test_nothing_of_a_failed_transaction_stays(tmp_path: Path) -> None:
    store = connect(str(tmp_path / "runs.db"))
    task_id = open_task(store)
    store.propose(task_id, 0, [trial(task_id, 0)])
    with pytest.raises(ValueError, match="already"):
        store.propose(
            task_id, 1, [trial(task_id, 1, round=1), trial(task_id, 0, name="b", round=1)]
        )
    assert len(store.trials(task_id)) == 1
    store.close_connections()


def test_full_disk_is_a_store_error(tmp_path: Path) -> None:
    store = connect(str(tmp_path / "runs.db"))
    task_id = open_task(store)
    store.propose(task_id, 0, [trial(task_id, n) for n in range(2)])
    with store.engine.connect() as connection:
        pages = connection.exec_driver_sql("pragma page_count").scalar_one()
        connection.exec_driver_sql(f"pragma max_page_count = {pages}")
    with pytest.raises(StoreError, match="full"):
        store.propose(task_id, 1, [trial(task_id, n, round=1) for n in range(2, 2_000)])
    with store.engine.connect() as connection:
        connection.exec_driver_sql("pragma max_page_count = 1000000")
    assert len(store.trials(task_id)) == 2, "the round that found no room is not there"
    assert store.close(task_id, 0, ok())
    store.close_connections()
