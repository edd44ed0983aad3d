"""The migrations make the schema, keep data, and refuse what they do not know."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from autosched.db.engine import open_engine, write
from autosched.db.location import database_url
from autosched.db.schema import Table
from autosched.db.store import connect
from autosched.db.upgrade import HEAD, migration_config, upgrade
from autosched.errors import InvalidInput
from autosched.testing.records import confirmation, measured_task, task_spec


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def test_scripts_are_one_line_of_numbered_revisions(path: Path) -> None:
    engine = open_engine(database_url(str(path)))
    with engine.connect() as connection:
        scripts = ScriptDirectory.from_config(migration_config(connection))
    revisions = [s.revision for s in scripts.walk_revisions()][::-1]
    assert revisions == [f"{i + 1:04d}" for i in range(len(revisions))]
    assert revisions[-1] == HEAD
    engine.dispose()


def test_schema_and_migrations_agree(path: Path) -> None:
    upgrade(str(path))
    engine = open_engine(database_url(str(path)))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Table.metadata) == []
        command.check(migration_config(connection))
    engine.dispose()


def test_every_constraint_has_a_name(path: Path) -> None:
    upgrade(str(path))
    engine = open_engine(database_url(str(path)))
    inspector = inspect(engine)
    for table in Table.metadata.tables:
        for found in (
            inspector.get_unique_constraints(table),
            inspector.get_foreign_keys(table),
            inspector.get_check_constraints(table),
            inspector.get_indexes(table),
        ):
            assert all(entry["name"] for entry in found)
    engine.dispose()


def test_upgrade_answers_what_was_there(path: Path) -> None:
    assert upgrade(str(path)) == ""
    assert upgrade(str(path)) == HEAD


def test_newer_schema_is_refused_naming_both_versions(path: Path) -> None:
    upgrade(str(path))
    with sqlite3.connect(path) as database:
        database.execute("update alembic_version set version_num = '0999'")
    before = path.read_bytes()
    for refused in (upgrade, connect):
        with pytest.raises(InvalidInput, match=rf"0999.*{HEAD}"):
            refused(str(path))
    assert path.read_bytes() == before


def test_failed_upgrade_leaves_nothing_half(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("create table measurements (name text)")
    with pytest.raises(InvalidInput, match="measurements"):
        upgrade(str(path))
    with sqlite3.connect(path) as other:
        names = {row[0] for row in other.execute("select name from sqlite_master")}
    assert names == {"measurements"}


@pytest.mark.parametrize("first", [f"{i + 1:04d}" for i in range(int(HEAD))])
def test_data_outlives_the_upgrade(path: Path, first: str) -> None:
    """From every revision: down to it, and up again with data in every table."""
    store = connect(str(path))
    task_id = measured_task(store, [100.0, 50.0])
    best = store.confirm(confirmation(task_id, {0: 90.0, 1: 50.0}))
    trials = store.trials(task_id)
    with write(store.engine) as connection:
        command.downgrade(migration_config(connection), first)
    store.close_connections()
    assert upgrade(str(path)) == first
    store = connect(str(path))
    assert store.trials(task_id) == trials
    assert store.best(task_spec().workload_key) == (best,)
    store.close_connections()


def test_downgrade_to_nothing_drops_every_table(path: Path) -> None:
    upgrade(str(path))
    engine = open_engine(database_url(str(path)))
    with write(engine) as connection:
        command.downgrade(migration_config(connection), "base")
    assert set(inspect(engine).get_table_names()) == {"alembic_version"}
    engine.dispose()
