"""Reads by the thousand keep one connection, and outlive its loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from autosched.db.store import connect, open_store
from autosched.errors import StoreError
from autosched.testing.postgres import Cluster
from autosched.testing.records import measured_task


def test_a_lost_connection_is_opened_again(postgres: Cluster, postgres_url: str) -> None:
    with open_store(postgres_url) as store:
        measured_task(store, [100.0, 50.0])
        assert store.bests(["w1-none"]) == {}
        name = postgres_url.partition("@/")[2].partition("?")[0]
        postgres.sql(
            f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
        )
        assert store.bests(["w1-none"]) == {}


def test_reads_take_one_connection_and_no_transaction(postgres_url: str) -> None:
    with open_store(postgres_url) as store:

        def backends() -> list[str]:
            with store.engine.connect() as connection:
                query = text(
                    "select state from pg_stat_activity where datname = current_database()"
                )
                return sorted(connection.scalars(query))

        store.bests(["w1-none"])
        before = backends()
        for _ in range(20):
            store.bests(["w1-none"])
        assert backends() == before
        assert "idle in transaction" not in before


def test_a_database_that_is_gone_is_said_to_be(postgres: Cluster) -> None:
    url = postgres.new_database()
    store = connect(url)
    store.bests(["w1-none"])
    postgres.drop(url)
    with pytest.raises(StoreError):
        store.bests(["w1-none"])
    store.close_connections()


def test_sqlite_reads_as_it_always_does(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "a.db")) as store:
        assert store.bests(["w1-none"]) == {}
