"""The migrations make the schema, keep data, and refuse what they do not know."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import IntegrityError

from autosched.db.engine import open_engine, write
from autosched.db.location import database_url
from autosched.db.stats import stats
from autosched.db.store import SqlTuningStore, connect
from autosched.db.upgrade import HEAD, METADATA, current_revision, migration_config, upgrade
from autosched.errors import InvalidInput
from autosched.jobs.access import Token
from autosched.jobs.queue import Turn
from autosched.jobs.workers import Worker
from autosched.records.family import family_key, log2_size
from autosched.records.record import trial_id
from autosched.testing.postgres import Cluster
from autosched.testing.records import (
    TARGET,
    TOOLCHAIN,
    TOOLCHAIN_KEY,
    confirmation,
    job_spec,
    measured_task,
    open_job,
    task_spec,
    workload_text,
)
from autosched.testing.submissions import claim, submit


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database."""
    if request.param == "sqlite":
        yield str(tmp_path / "runs.db")
        return
    postgres: Cluster = request.getfixturevalue("postgres")
    url = postgres.empty_database()
    yield url
    postgres.drop(url)


@contextmanager
def opened(url: str) -> Iterator[Engine]:
    engine = open_engine(database_url(url))
    try:
        yield engine
    finally:
        engine.dispose()


def move_down(url: str, revision: str) -> None:
    with opened(url) as engine, write(engine) as connection:
        command.downgrade(migration_config(connection), revision)


def test_scripts_are_one_line_of_numbered_revisions(url: str) -> None:
    with opened(url) as engine, engine.connect() as connection:
        scripts = ScriptDirectory.from_config(migration_config(connection))
    revisions = [s.revision for s in scripts.walk_revisions()][::-1]
    assert revisions == [f"{i + 1:04d}" for i in range(len(revisions))]
    assert revisions[-1] == HEAD


def test_schema_and_migrations_agree(url: str) -> None:
    upgrade(url)
    with opened(url) as engine, engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []
        command.check(migration_config(connection))


def test_every_constraint_has_a_name(url: str) -> None:
    upgrade(url)
    with opened(url) as engine:
        inspector = inspect(engine)
        for table in METADATA.tables:
            for found in (
                inspector.get_unique_constraints(table),
                inspector.get_foreign_keys(table),
                inspector.get_check_constraints(table),
                inspector.get_indexes(table),
            ):
                assert all(entry["name"] for entry in found)


def test_upgrade_answers_what_was_there(url: str) -> None:
    assert upgrade(url) == ""
    assert upgrade(url) == HEAD


def test_newer_schema_is_refused_naming_both_versions(url: str) -> None:
    upgrade(url)
    with opened(url) as engine, write(engine) as connection:
        connection.execute(text("update alembic_version set version_num = '0999'"))
    for refused in (upgrade, connect):
        with pytest.raises(InvalidInput, match=rf"0999.*{HEAD}"):
            refused(url)
    with opened(url) as engine, engine.connect() as connection:
        assert current_revision(connection) == "0999"


def test_failed_upgrade_leaves_nothing_half(url: str) -> None:
    with opened(url) as engine, write(engine) as connection:
        connection.execute(text("create table measurements (name text)"))
    with pytest.raises(InvalidInput, match="measurements"):
        upgrade(url)
    with opened(url) as engine:
        assert set(inspect(engine).get_table_names()) == {"measurements"}


@pytest.mark.parametrize("first", [f"{i + 1:04d}" for i in range(int(HEAD))])
def test_data_outlives_the_upgrade(url: str, first: str) -> None:
    """From every revision: down to it, and up again with data in every table."""
    store = connect(url)
    task_id = fill(store)
    assert all(stats(store).rows.values()), "there is data in every table"
    job, best, trials = (
        store.jobs()[-1],
        store.best(task_spec().workload_key),
        store.trials(task_id),
    )
    store.close_connections()
    move_down(url, first)
    assert upgrade(url) == first
    store = connect(url)
    assert store.jobs()[-1] == job
    assert store.trials(task_id) == trials
    assert store.best(task_spec().workload_key) == best
    near = store.family_best(family_key(workload_text()), log2_size=log2_size(workload_text(80)))
    assert [r.best for r in near] == list(best), "a winner is found by its size"
    assert len(store.records([t.id for t in trials])) == len(trials)
    assert open_job(store, job_spec(seed=7)).history == (trials[0].id,)
    store.close_connections()


def fill(store: SqlTuningStore) -> str:
    """A row in every table at least; the task of the first job."""
    task_id = measured_task(store, [100.0, 50.0])
    store.confirm(confirmation(task_id, {0: 90.0, 1: 50.0}))
    store.calibrate(TARGET.key, {"peak": 1e12})
    open_job(store, job_spec(seed=7), history=[trial_id(task_id, 0)])
    waiting, job = submit(store, idempotency_key="k"), submit(store, "bob")
    claim(store, job.id)
    store.cancel(waiting.id)
    store.add_turn(Turn("h/0", job.id, "bob", 1.0))
    store.lease_device("d1", "h/0", lease_seconds=60)
    store.register(
        Worker("w", "h", TARGET.key, asdict(TARGET), 2, TOOLCHAIN_KEY, TOOLCHAIN, ("h/0",))
    )
    store.add_token(Token("t", "ann", frozenset({"read"}), "digest"))
    store.count({"leases_lost": 1})
    return task_id


def test_two_upgraders_at_once(url: str) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(upgrade, [url] * 3))[-1] in {"", HEAD}
    assert upgrade(url) == HEAD


def test_downgrade_to_nothing_drops_every_table(url: str) -> None:
    upgrade(url)
    move_down(url, "base")
    with opened(url) as engine:
        assert set(inspect(engine).get_table_names()) == {"alembic_version"}


def test_a_worker_that_cannot_be_used_takes_no_work_in_an_older_schema(url: str) -> None:
    store = connect(url)
    fill(store)
    store.seen("w", "quarantined")
    assert [w.state for w in store.workers(alive_only=True)] == ["quarantined"]
    store.close_connections()
    move_down(url, "0002")
    with opened(url) as engine, engine.connect() as connection:
        assert connection.scalar(text("select state from workers")) == "draining"
    quarantine = text("update workers set state = 'quarantined'")
    with opened(url) as engine, pytest.raises(IntegrityError), write(engine) as connection:
        connection.execute(quarantine)
    assert upgrade(url) == "0002"


def test_jobs_learn_why_they_failed_from_their_last_events(url: str) -> None:
    store = connect(url)
    failed, resumed, fine = (submit(store) for _ in range(3))
    for job in (failed, resumed):
        claim(store, job.id)
        store.end_claimed(job.id, 1, "failed", "error", f"fault of {job.id}")
    store.resume(resumed.id, trials=None, seconds=None)
    store.cancel(fine.id)
    before = [store.submitted(job.id) for job in (failed, resumed, fine)]
    store.close_connections()
    move_down(url, "0002")
    assert upgrade(url) == "0002"
    store = connect(url)
    assert [store.submitted(job.id) for job in (failed, resumed, fine)] == before
    assert before[0] is not None
    assert before[0].error == f"fault of {failed.id}"
    store.close_connections()
