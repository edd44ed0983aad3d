"""A PostgreSQL server that dies and comes back: errors that say so, the same store afterwards, nothing lost."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event, Thread

import pytest
from sqlalchemy.engine import make_url

from autosched.db.store import SqlTuningStore, connect
from autosched.errors import InvalidInput, StoreError
from autosched.testing.postgres import Cluster
from autosched.testing.records import ok, open_task, trial
from autosched.testing.submissions import claim, submit
from autosched.testing.waiting import until


@pytest.fixture
def store(postgres_url: str) -> Iterator[SqlTuningStore]:
    store = connect(postgres_url, connections=3)
    yield store
    store.close_connections()


def test_no_committed_row_is_lost_by_a_crash_under_load(
    store: SqlTuningStore, postgres: Cluster
) -> None:
    task_id = open_task(store)
    store.propose(task_id, 0, [trial(task_id, n) for n in range(2_000)])
    closed: list[int] = []
    failures: list[StoreError] = []
    enough = Event()

    def close_all() -> None:
        number = 0
        while not enough.is_set() and number < 2_000:
            try:
                store.close(task_id, number, ok())
            except StoreError as error:
                failures.append(error)
                continue
            closed.append(number)
            number += 1

    writer = Thread(target=close_all)
    writer.start()
    try:
        for _ in range(2):
            before = until(lambda: len(closed))
            postgres.restart("immediate")
            until(lambda before=before: len(closed) > before + 5)
    finally:
        enough.set()
        writer.join()
    assert failures, "the crash was seen"
    finished = [t.number for t in store.trials(task_id) if not t.is_open]
    assert finished == closed


def test_absent_server_is_a_store_error(
    store: SqlTuningStore, postgres: Cluster, postgres_url: str
) -> None:
    job = submit(store)
    postgres.stop("immediate")
    try:
        for call in (
            store.ping,
            store.jobs,
            lambda: store.cancel(job.id),
            lambda: store.renew("d1", {job.id: 1}, [], lease_seconds=60),
        ):
            for _ in range(4):
                with pytest.raises(StoreError, match="database"):
                    call()
        with pytest.raises(InvalidInput, match="cannot be reached"):
            connect(postgres_url)
    finally:
        postgres.start()
    store.ping()
    assert claim(store, job.id).fence == 1


def test_a_database_that_is_not_there_is_named_as_it_was_typed(postgres_url: str) -> None:
    absent = make_url(postgres_url).set(drivername="postgresql", database="nope")
    with pytest.raises(InvalidInput, match=r"'postgresql://.*/nope.*' does not exist: `createdb"):
        connect(absent.render_as_string())


def test_idle_connections_that_were_cut_are_replaced(
    store: SqlTuningStore, postgres: Cluster
) -> None:
    job = submit(store)
    postgres.restart()
    assert store.submitted(job.id) == job
    postgres.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname like 'test%'"
    )
    assert store.cancel(job.id).state == "cancelled"
