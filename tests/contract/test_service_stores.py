"""One suite over every store that a service can run on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autosched.db.store import SqlTuningStore, connect
from autosched.testing.service_contract import ServiceContract


class TestSqliteService(ServiceContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SqlTuningStore]:
        store = connect(str(tmp_path / "store.db"))
        yield store
        store.close_connections()


class TestPostgresService(ServiceContract):
    @pytest.fixture
    def store(self, postgres_url: str) -> Iterator[SqlTuningStore]:
        store = connect(postgres_url)
        yield store
        store.close_connections()
