"""Where the database is, and what is said when it cannot be there."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import platformdirs
import pytest

from autosched.db.location import database_url, default_url, simulated_url
from autosched.db.store import connect
from autosched.errors import InvalidInput
from autosched.testing.records import measured_task


def test_default_is_a_file_in_the_users_data_directory() -> None:
    url = database_url(None)
    assert url == database_url(default_url())
    assert url.database is not None
    assert Path(url.database).parent == platformdirs.user_data_path("autosched")


def test_a_simulated_service_has_a_file_of_its_own_beside_it() -> None:
    own, simulated = database_url(None).database, database_url(simulated_url()).database
    assert own is not None
    assert simulated is not None
    assert (Path(simulated).parent, Path(simulated).name) == (Path(own).parent, "simulated.db")


def test_path_and_url_name_the_same_file() -> None:
    assert database_url("runs.db") == database_url("sqlite:///runs.db")
    assert database_url("/data/runs.db") == database_url("sqlite:////data/runs.db")


def test_postgresql_goes_through_psycopg() -> None:
    assert database_url("postgresql://me@host/db").drivername == "postgresql+psycopg"


@pytest.mark.parametrize(
    "text",
    ["mysql://host/db", "sqlite://", "sqlite:///:memory:", "postgresql://host:port/db", "://", ""],
)
def test_bad_url_is_named(text: str) -> None:
    with pytest.raises(InvalidInput, match="database"):
        database_url(text)


def test_password_stays_out_of_messages() -> None:
    with pytest.raises(InvalidInput) as error:
        database_url("mysql://me:secret@host/db")
    assert "secret" not in str(error.value)


def test_missing_directories_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "runs.db"
    connect(str(path)).close_connections()
    assert path.is_file()


def test_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be made"):
        connect(str(tmp_path / "file" / "runs.db"))


def test_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be opened"):
        connect(str(tmp_path))


def test_file_of_another_kind_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, and no database\n" * 100)
    with pytest.raises(InvalidInput, match="not a database"):
        connect(str(path))
    assert path.read_text().startswith("these are notes")


def test_database_of_someone_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("create table jobs (name text)")
    with pytest.raises(InvalidInput, match="cannot be upgraded"):
        connect(str(path))
    with sqlite3.connect(path) as other:
        names = [row[0] for row in other.execute("select name from sqlite_master")]
    assert names == ["jobs"]


def test_nobody_answers_at_a_port() -> None:
    with pytest.raises(InvalidInput, match="cannot be reached"):
        connect("postgresql://me:secret@127.0.0.1:1/none")


def test_store_is_there_after_reopening(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    first = connect(path)
    task_id = measured_task(first, [100.0, 50.0])
    trials = first.trials(task_id)
    first.close_connections()
    second = connect(path)
    assert second.trials(task_id) == trials
    second.close_connections()
