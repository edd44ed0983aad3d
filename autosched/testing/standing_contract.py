"""What the holder of a job decides, and what its owner sees of it."""

from __future__ import annotations

import pytest

from autosched.jobs.queue import (
    FenceLost,
)
from autosched.jobs.record import Page
from autosched.records.outcome import Outcome
from autosched.records.record import trial_id
from autosched.testing.records import (
    confirmation,
    failed,
    ok,
    task_spec,
    timing,
    trial,
)
from autosched.testing.submissions import ServiceStore, claim, kinds, submit


class FenceContract:
    """Decisions need the fence, results do not."""

    def test_loser_of_a_fence_decides_nothing(self, store: ServiceStore) -> None:
        job = submit(store)
        task_id = job.job.tasks[0][0]
        old = store.fenced(job.id, claim(store, job.id, lease_seconds=0).fence)
        old.propose(task_id, 0, [trial(task_id, n) for n in range(2)])
        new = store.fenced(job.id, claim(store, job.id, "d2").fence)
        for call in (
            lambda: old.propose(task_id, 1, [trial(task_id, 2, round=1)]),
            lambda: old.resend(task_id),
            lambda: old.next_attempt(task_id, 0),
            lambda: old.begin((), {}),
            lambda: old.end_job(job.id, "succeeded", "trials"),
            lambda: store.end_claimed(job.id, 1, "succeeded", "trials"),
        ):
            with pytest.raises(FenceLost, match="fence 2"):
                call()
        assert [(t.number, t.attempt) for t in store.trials(task_id)] == [(0, 1), (1, 1)]
        assert old.close(task_id, 0, ok()), "a late result counts"
        assert [t.attempt for t in new.resend(task_id)] == [2]
        assert new.next_attempt(task_id, 1) == 3
        new.end_job(job.id, "succeeded", "trials")
        assert kinds(store, job.id)[-1] == "end succeeded"

    def test_history_of_the_first_holder_stays(self, store: ServiceStore) -> None:
        earlier = submit(store).job.tasks[0][0]
        store.propose(earlier, 0, [trial(earlier, 0)])
        store.close(earlier, 0, ok())
        noted, silent = submit(store), submit(store)
        for job, used in ((noted, (trial_id(earlier, 0),)), (silent, ())):
            task_id = job.job.tasks[0][0]
            store.fenced(job.id, claim(store, job.id, lease_seconds=0).fence).begin(
                used, {task_id: (1e6, 1e-6)}
            )
            later = store.fenced(job.id, claim(store, job.id, "d2").fence)
            later.begin(() if used else (trial_id(earlier, 0),), {task_id: (1e6, None)})
            found = store.submitted(job.id)
            assert found is not None
            assert found.job.history == used
            stands = store.standings([job.id])[job.id][0]
            assert (stands.operations, stands.bound_seconds) == (1e6, None)


class StandingContract:
    """What the trials of a job have brought."""

    def test_standing_of_tasks(self, store: ServiceStore) -> None:
        job = submit(store, tasks=[task_spec(64, weight=2), task_spec(128)])
        (first, spec), (second, _) = job.job.tasks
        store.propose(first, 0, [trial(first, n) for n in range(5)])
        store.close(first, 0, ok(100.0))
        store.close(first, 1, ok(50.0))
        for number in (2, 3):
            store.close(first, number, failed(Outcome.CRASHED))
        store.confirm(confirmation(first, {0: 90.0, 1: 51.0}))
        stands, empty = store.standings([job.id])[job.id]
        assert (stands.task_id, stands.spec) == (first, spec)
        assert stands.outcomes == {Outcome.OK: 1, Outcome.CRASHED: 2}
        assert stands.open_trials == 1
        assert stands.default_seconds == timing(90.0).median_seconds
        assert (stands.best, stands.trial) == (timing(51.0), trial_id(first, 1))
        assert (empty.task_id, empty.outcomes, empty.open_trials) == (second, {}, 0)
        assert (empty.default_seconds, empty.best, empty.trial) == (None, None, None)
        store.confirm(confirmation(first, {0: 80.0, 1: 82.0}))
        stands = store.standings([job.id])[job.id][0]
        assert (stands.best, stands.trial) == (timing(80.0), trial_id(first, 0))
        assert store.standings([]) == {}

    def test_standing_names_a_winner_of_another_job(self, store: ServiceStore) -> None:
        first, second = submit(store), submit(store, "bob")
        (old, _), (new, _) = first.job.tasks[0], second.job.tasks[0]
        for task_id in (old, new):
            store.propose(task_id, 0, [trial(task_id, 0, name=task_id)])
            store.close(task_id, 0, ok())
        store.confirm(confirmation(new, {0: 90.0}, others={trial_id(old, 0): 60.0}))
        stands = store.standings([second.id])[second.id][0]
        assert stands.trial == trial_id(old, 0)
        assert store.standings([first.id])[first.id][0].trial is None

    def test_failures_are_grouped_by_their_first_line(self, store: ServiceStore) -> None:
        job = submit(store)
        task_id = job.job.tasks[0][0]
        store.propose(task_id, 0, [trial(task_id, n) for n in range(6)])
        store.close(task_id, 0, ok())
        store.close(task_id, 1, failed(Outcome.CRASHED, error="killed\nby signal 11"))
        store.close(task_id, 2, failed(Outcome.COMPILE_ERROR, error="no such thing"))
        store.close(task_id, 3, failed(Outcome.CRASHED, error="killed\nby signal 9"))
        store.close(task_id, 4, failed(Outcome.CRASHED, error=""))
        found = store.failures(job.id)
        assert [(f.outcome, f.kind, f.count, f.example_trial) for f in found] == [
            (Outcome.CRASHED, "killed", 2, trial_id(task_id, 1)),
            (Outcome.COMPILE_ERROR, "no such thing", 1, trial_id(task_id, 2)),
            (Outcome.CRASHED, "", 1, trial_id(task_id, 4)),
        ]
        assert found[0].log == "line 1\nline 2"
        assert store.failures(job.id, limit=1) == found[:1]
        assert store.failures("none") == ()

    def test_trials_are_paged_by_task_and_number(self, store: ServiceStore) -> None:
        job = submit(store, tasks=[task_spec(64), task_spec(96), task_spec(128)])
        tasks = [task_id for task_id, _ in job.job.tasks]
        for task_id in (tasks[2], tasks[0]):
            store.propose(task_id, 0, [trial(task_id, n) for n in (2, 0, 1)])
        store.close(tasks[0], 1, ok())
        every = [trial_id(task_id, n) for task_id in (tasks[0], tasks[2]) for n in range(3)]
        pages: list[str] = []
        after: str | None = None
        while found := store.list_trials(job.id, Page(2, after)):
            pages += [t.id for t in found]
            after = pages[-1]
        assert pages == every
        assert [t.measurement for t in store.list_trials(job.id, Page(2))] == [None, ok()]


class EventContract:
    """Numbered without gaps."""

    def test_events_go_on_after_a_number(self, store: ServiceStore) -> None:
        job = submit(store)
        store.append_event(job.id, "progress", {"done": 1, "rate": float("nan")})
        store.append_event(job.id, "best", {"task": 0})
        found = store.events(job.id, after=1)
        assert [(e.number, e.type, e.data) for e in found] == [
            (2, "progress", {"done": 1, "rate": None}),
            (3, "best", {"task": 0}),
        ]
        assert all(e.job_id == job.id and e.created_at.tzinfo for e in found)
        assert store.events(job.id, after=1, limit=1) == found[:1]
        assert store.events(job.id, after=3) == ()
