"""A store on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autosched.db.store import SqlTuningStore, connect


@pytest.fixture(params=["sqlite", "postgresql"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlTuningStore]:
    is_sqlite = request.param == "sqlite"
    store = connect(
        str(tmp_path / "any.db") if is_sqlite else request.getfixturevalue("postgres_url")
    )
    yield store
    store.close_connections()


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[SqlTuningStore]:
    store = connect(str(tmp_path / "runs.db"))
    yield store
    store.close_connections()
