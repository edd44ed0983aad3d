"""Counting what is there, and forgetting only what may be forgotten."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from autosched.db.engine import write
from autosched.db.prune import Pruned, prune
from autosched.db.schema import JobRow
from autosched.db.stats import stats
from autosched.db.store import SqlTuningStore
from autosched.db.upgrade import HEAD
from autosched.jobs.access import Token
from autosched.jobs.queue import IDEMPOTENCY_DAYS, Quota, Turn, WrongState
from autosched.records.outcome import Outcome
from autosched.records.record import trial_id
from autosched.testing.records import (
    confirmation,
    failed,
    job_spec,
    measured_task,
    ok,
    open_job,
    open_task,
    task_spec,
    trial,
)
from autosched.testing.submissions import claim, submission, submit


@pytest.fixture
def store(any_store: SqlTuningStore) -> SqlTuningStore:
    return any_store


def soon() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


def finish(store: SqlTuningStore, seed: int = 0) -> None:
    store.end_job(open_job(store, job_spec(seed=seed)).id, "succeeded", "trials")


def test_numbers_of_an_empty_store(store: SqlTuningStore) -> None:
    found = stats(store)
    assert set(found.rows.values()) == {0}
    assert found.schema_version == HEAD
    assert found.size_bytes > 0
    assert found.first_trial_at is None
    json.dumps(found.to_json())


def test_numbers(store: SqlTuningStore) -> None:
    task_id = measured_task(store, [100.0, 50.0])
    store.propose(task_id, 1, [trial(task_id, n, round=1) for n in (2, 3)])
    store.close(task_id, 2, failed(Outcome.CRASHED))
    store.confirm(confirmation(task_id, {0: 90.0}))
    finish(store)
    second = open_task(store, seed=1)
    store.propose(second, 0, [trial(second, 1)])
    found = stats(store)
    assert found.rows["trials"] == 5
    assert found.outcomes == {"ok": 3, "crashed": 1}
    assert found.purposes == {"search": 3, "confirm": 1}
    assert found.jobs == {"running": 1, "succeeded": 1}
    assert (found.open_trials, found.reused_trials) == (1, 1)
    assert found.first_trial_at is not None
    assert found.last_trial_at is not None
    assert found.first_trial_at <= found.last_trial_at
    json.dumps(found.to_json())


def test_what_is_of_use_is_kept(store: SqlTuningStore) -> None:
    task_id = measured_task(store, [100.0, 50.0, 60.0, 70.0, 80.0])
    best = store.confirm(confirmation(task_id, {0: 90.0, 1: 50.0, 2: 60.0}))
    finish(store)
    assert prune(store, soon(), dry_run=True) == Pruned(2, 2)
    assert len(store.trials(task_id)) == 5
    assert prune(store, soon()) == Pruned(2, 2)
    assert [t.number for t in store.trials(task_id)] == [0, 1, 2]
    assert store.best(task_spec().workload_key) == (best,)
    assert prune(store, soon()) == Pruned(0, 0)


def test_young_ones_are_kept(store: SqlTuningStore) -> None:
    before = datetime.now(UTC)
    measured_task(store, [100.0, 50.0])
    finish(store)
    assert prune(store, before) == Pruned(0, 0)


def test_unfinished_jobs_and_their_histories_are_kept(store: SqlTuningStore) -> None:
    first = measured_task(store, [100.0, 50.0, 60.0])
    finish(store)
    used = (trial_id(first, 2),)
    job = open_job(store, job_spec(seed=1), history=used)
    second = job.tasks[0][0]
    store.propose(second, 0, [trial(second, n) for n in (0, 1, 5)])
    store.close(second, 5, ok())
    assert prune(store, soon()) == Pruned(0, 0), "one is reused, one is read again"
    assert open_job(store, job_spec(seed=1)).history == used
    finish(store, seed=1)
    assert prune(store, soon()) == Pruned(4, 3)
    assert [t.number for t in store.trials(first)] == [0]
    assert [(t.number, t.measurement) for t in store.trials(second)] == [(0, ok(100.0))]


def test_forgotten_candidate_may_be_measured_again(store: SqlTuningStore) -> None:
    measured_task(store, [100.0, 50.0])
    finish(store)
    prune(store, soon())
    second = open_task(store, seed=1)
    assert store.propose(second, 0, [trial(second, 1)])[0].is_open
    assert store.close(second, 1, ok(45.0))


def test_what_a_service_keeps_for_a_while_is_forgotten(store: SqlTuningStore) -> None:
    ended, running = (submit(store, idempotency_key=k) for k in "ab")
    for job in (ended, running):
        claim(store, job.id)
        store.append_event(job.id, "progress", {})
        store.add_turn(Turn("h/0", job.id, "ann", 2.0))
    store.end_claimed(ended.id, 1, "failed", "error")
    day = timedelta(days=1)
    now = datetime.now(UTC)
    for name, expires in (("old", now - day), ("good", now + 9 * day), ("ever", None)):
        store.add_token(Token(name, "ann", frozenset({"read"}), "d", expires_at=expires))
    assert prune(store, now - 2 * day) == Pruned(0, 0)
    assert prune(store, soon(), dry_run=True) == Pruned(0, 0, 4, 2, 1)
    assert prune(store, soon()) == Pruned(0, 0, 4, 2, 1)
    assert [e.number for e in store.events(ended.id, after=0)] == [5]
    assert [e.number for e in store.events(running.id, after=0)] == [1, 2, 3]
    assert {t.id for t in store.tokens()} == {"good", "ever"}
    assert store.owner_seconds(window_seconds=3600) == {}
    store.resume(ended.id, trials=None, seconds=None)
    assert claim(store, ended.id).spent_seconds == 2.0
    assert [e.number for e in store.events(ended.id, after=5)] == [6, 7]


def test_idempotency_keys_are_kept_for_their_days(store: SqlTuningStore) -> None:
    asked = submission(idempotency_key="k", body_digest="d")
    job, _ = store.submit(asked, Quota())
    store.cancel(job.id)
    assert prune(store, soon()).idempotency_keys == 0
    assert not store.submit(asked, Quota())[1]
    set_back(store, job.id, days=IDEMPOTENCY_DAYS + 1)
    assert prune(store, soon()).idempotency_keys == 1


def test_idempotency_key_of_old_stands_for_nothing(store: SqlTuningStore) -> None:
    asked = submission(idempotency_key="k", body_digest="d")
    job, _ = store.submit(asked, Quota())
    set_back(store, job.id, days=IDEMPOTENCY_DAYS + 1)
    again, is_new = store.submit(replace(asked, body_digest="e"), Quota())
    assert is_new
    assert again.id != job.id


def set_back(store: SqlTuningStore, job_id: str, *, days: int) -> None:
    """Make a job look as old as that."""
    then = datetime.now(UTC) - timedelta(days=days)
    with write(store.engine) as connection:
        connection.execute(update(JobRow).where(JobRow.id == job_id).values(created_at=then))


def test_space_is_given_back(sqlite_store: SqlTuningStore) -> None:
    store = sqlite_store
    task_id = open_task(store)
    store.propose(task_id, 0, [trial(task_id, n) for n in range(500)])
    for number in range(500):
        store.close(task_id, number, failed(Outcome.COMPILE_ERROR, error="e" * 3000))
    finish(store)
    before = stats(store).size_bytes
    assert prune(store, soon()).trials == 499
    assert stats(store).size_bytes < before / 4


def test_the_account_of_a_job_outlives_its_trials(store: SqlTuningStore) -> None:
    job = submit(store, tasks=[task_spec(64), task_spec(128)])
    (first, _), (second, _) = job.job.tasks
    claim(store, job.id)
    store.propose(first, 0, [trial(first, n) for n in range(6)])
    for number in range(4):
        store.close(first, number, ok(100.0 - number))
    store.close(first, 4, failed(Outcome.CRASHED))
    store.close(first, 5, failed(Outcome.PRUNED))
    store.propose(second, 0, [trial(second, 0), trial(second, 1)])
    store.close(second, 1, ok(5.0))
    store.confirm(confirmation(first, {0: 100.0, 2: 90.0}))
    store.end_claimed(job.id, 1, "failed", "error")
    account = store.standings([job.id])[job.id]
    assert account[0].outcomes == {Outcome.OK: 3, Outcome.CRASHED: 1, Outcome.PRUNED: 1}
    assert prune(store, soon(), dry_run=True).trials == 5
    assert store.standings([job.id])[job.id] == account
    assert prune(store, soon()).trials == 5
    assert [t.number for t in store.trials(first)] == [0, 2]
    assert store.standings([job.id])[job.id] == account
    with pytest.raises(WrongState, match="forgotten"):
        store.resume(job.id, trials=None, seconds=None)
    store.close(second, 0, ok())
    assert prune(store, soon()).trials == 0
    assert store.standings([job.id])[job.id][0] == account[0]


def test_what_is_forgotten_adds_up(store: SqlTuningStore) -> None:
    job = submit(store)
    task_id = job.job.tasks[0][0]
    store.propose(task_id, 0, [trial(task_id, n) for n in range(3)])
    store.cancel(job.id)
    for number, left in ((1, 1), (2, 0)):
        store.close(task_id, number, ok())
        assert prune(store, soon()).trials == 1
        (stands,) = store.standings([job.id])[job.id]
        assert (stands.outcomes, stands.open_trials) == ({Outcome.OK: number}, left)
