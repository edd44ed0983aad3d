"""Backups by each database's own means, taken while a tuner is at work, restore to what was there."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from autosched.db.exporting import export_file
from autosched.db.importing import import_file
from autosched.db.stats import Stats, stats
from autosched.db.store import SqlTuningStore, connect
from autosched.jobs.record import JobFilter, Page
from autosched.testing.postgres import Cluster
from autosched.testing.records import (
    confirmation,
    measured_task,
    open_task,
    task_spec,
    trial,
)
from autosched.testing.submissions import claim, submit


def fill(store: SqlTuningStore) -> None:
    task_id = measured_task(store, [100.0, 50.0])
    store.confirm(confirmation(task_id, {0: 90.0, 1: 50.0}))
    job = submit(store)
    claim(store, job.id)


def rows(store: SqlTuningStore) -> dict[str, object]:
    found: Stats = stats(store)
    return {"rows": found.rows, "jobs": found.jobs, "outcomes": found.outcomes}


def check_restored(store: SqlTuningStore, url: str) -> None:
    restored = connect(url)
    assert rows(restored) == rows(store)
    assert restored.best(task_spec().workload_key) == store.best(task_spec().workload_key)
    assert restored.jobs() == store.jobs()
    task_id = open_task(restored, seed=9)
    assert not restored.propose(task_id, 0, [trial(task_id, 1)])[0].is_open
    restored.close_connections()


def test_sqlite_vacuum_into(sqlite_store: SqlTuningStore, tmp_path: Path) -> None:
    fill(sqlite_store)
    backup = tmp_path / "backup.db"
    with sqlite3.connect(str(sqlite_store.engine.url.database)) as reader:
        reader.execute("vacuum into ?", [str(backup)])
    check_restored(sqlite_store, str(backup))


def test_postgres_dump_and_restore(postgres: Cluster, postgres_url: str) -> None:
    store = connect(postgres_url)
    fill(store)
    url = postgres.empty_database()
    old, new = (urlsplit(u).path.lstrip("/") for u in (postgres_url, url))
    host = parse_qs(urlsplit(url).query)["host"][0]
    dump = str(postgres.directory / "dump")
    postgres.program("pg_dump", "-h", host, "-Fc", "-f", dump, old)
    postgres.program("pg_restore", "-h", host, "-d", new, "--exit-on-error", dump)
    check_restored(store, url)
    store.close_connections()
    postgres.drop(url)


def test_records_move_between_databases(
    sqlite_store: SqlTuningStore, postgres_url: str, tmp_path: Path
) -> None:
    """SQLite to PostgreSQL and back: the second file says what the first did."""
    fill(sqlite_store)
    measured_task(sqlite_store, [70.0], seed=3)
    sqlite_store.end_job(sqlite_store.jobs()[0].id, "succeeded", "trials")
    first, second, third = (tmp_path / f"{n}.jsonl" for n in range(3))
    export_file(sqlite_store, first)
    postgres_store, back = connect(postgres_url), connect(str(tmp_path / "back.db"))
    import_file(postgres_store, first)
    export_file(postgres_store, second)
    import_file(back, second)
    export_file(back, third)
    assert set(second.read_text().splitlines()[1:]) == set(third.read_text().splitlines()[1:])
    spec = task_spec().workload_key
    assert postgres_store.best(spec) == back.best(spec) == sqlite_store.best(spec)
    (job,) = sqlite_store.list_submitted(JobFilter(), Page())
    (moved,) = back.list_submitted(JobFilter(), Page())
    assert (moved.owner, moved.state, moved.job.tasks) == (job.owner, "cancelled", job.job.tasks)
    assert moved.job.end_reason == "cancelled", "one of the reasons that a job of the service has"
    assert [e.type for e in back.events(moved.id, after=0)] == ["end"]
    assert back.resume(moved.id, trials=None, seconds=None).state == "queued"
    postgres_store.close_connections()
    back.close_connections()
