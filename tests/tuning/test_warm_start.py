"""A search starts from the newest records, and from all of its own workloads'."""

from __future__ import annotations

from autosched.records.memory import MemoryStore
from autosched.records.record import trial_id
from autosched.testing.records import TARGET, job_spec, ok, open_job, task_spec, trial
from autosched.tuning.warm_start import warm_start


def measured(store: MemoryStore, rows: int, n: int) -> str:
    task_id = open_job(store, job_spec(seed=rows), tasks=[task_spec(rows)]).tasks[0][0]
    store.propose(task_id, 0, [trial(task_id, number) for number in range(n)])
    for number in range(n):
        store.close(task_id, number, ok())
    return task_id


def test_own_records_follow_the_newest_of_all() -> None:
    store = MemoryStore()
    old, middle, new = (measured(store, rows, 3) for rows in (32, 64, 128))
    started = warm_start(
        store, TARGET.isa, [task_spec(n).workload_key for n in (32, 128)], newest=4
    )
    newest = [trial_id(new, n) for n in (2, 1, 0)] + [trial_id(middle, 2)]
    assert [r.trial_id for r in started] == newest + [trial_id(old, n) for n in (2, 1, 0)]


def test_small_history_is_all_there_is_newest_first() -> None:
    store = MemoryStore()
    for rows in (32, 64):
        measured(store, rows, 3)
    started = warm_start(store, TARGET.isa, [task_spec(32).workload_key])
    assert started == store.history(TARGET.isa)
    assert len(started) == 6
