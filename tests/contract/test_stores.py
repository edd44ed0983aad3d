"""One suite over every TuningStore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autosched.db.store import SqlTuningStore, connect
from autosched.records.memory import MemoryStore
from autosched.testing.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SqlTuningStore]:
        store = connect(str(tmp_path / "store.db"))
        yield store
        store.close_connections()


class TestPostgresStore(StoreContract):
    @pytest.fixture
    def store(self, postgres_url: str) -> Iterator[SqlTuningStore]:
        store = connect(postgres_url)
        yield store
        store.close_connections()
