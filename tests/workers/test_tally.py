"""Counts of closed trials: all of them, in few writes."""

from __future__ import annotations

from collections import Counter
from typing import cast

from autosched_workers.tally import TalliedStore, Tally

from autosched.records.memory import MemoryStore
from autosched.records.store import TuningStore
from autosched.testing.records import ok, open_task, trial


def test_counts_wait_a_second_and_none_is_lost() -> None:
    now, written = [0.0], list[dict[str, int]]()
    tally = Tally(lambda counts: written.append(dict(counts)), lambda: now[0])
    for _ in range(3):
        tally.add("a")
    assert written == []
    now[0] = 1.5
    tally.add("b")
    assert written == [{"a": 3, "b": 1}]
    tally.flush()
    tally.add("a")
    tally.flush()
    assert written[1:] == [{"a": 1}]


def test_a_trial_counts_once_and_a_late_result_as_a_duplicate() -> None:
    total: Counter[str] = Counter()
    memory = MemoryStore()
    tally = Tally(total.update)
    store = cast(TuningStore, TalliedStore(memory, tally))
    task_id = open_task(memory)
    store.propose(task_id, 0, [trial(task_id, 0)])
    assert store.close(task_id, 0, ok())
    assert not store.close(task_id, 0, ok())
    tally.flush()
    assert total == {"trials_ok": 1, "duplicates_dropped": 1}
