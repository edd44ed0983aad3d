"""What a queue must do from many threads at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

from autosched.jobs.queue import (
    FenceLost,
    Quota,
    QuotaExceeded,
)
from autosched.jobs.record import JobFilter, Page, Submitted
from autosched.testing.records import (
    task_spec,
    trial,
)
from autosched.testing.submissions import ServiceStore, claim, kinds, submission, submit

Answer = TypeVar("Answer")


def at_once(*calls: Callable[[], Answer]) -> list[Answer | Exception]:
    """The answers of calls made by threads that start together, errors among them."""
    start = Barrier(len(calls))

    def run(call: Callable[[], Answer]) -> Answer | Exception:
        start.wait()
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


class RaceContract:
    """The same from many threads at once."""

    def test_one_of_many_claims_wins(self, store: ServiceStore) -> None:
        job = submit(store)
        found = at_once(
            *(lambda n=n: store.claim(f"d{n}", job.id, lease_seconds=60) for n in range(4))
        )
        claims = [c for c in found if c is not None]
        assert len(claims) == 1
        assert getattr(claims[0], "fence", None) == 1, claims

    def test_lapsed_job_has_one_heir(self, store: ServiceStore) -> None:
        job = submit(store)
        claim(store, job.id, "d0", lease_seconds=0)
        renewed, first, second = at_once(
            lambda: bool(store.renew("d0", {job.id: 1}, [], lease_seconds=60).jobs),
            lambda: store.claim("d1", job.id, lease_seconds=60),
            lambda: store.claim("d2", job.id, lease_seconds=60),
        )
        heirs = [c for c in (first, second) if c is not None]
        assert len(heirs) <= 1
        assert heirs or renewed is True, "somebody has it"
        still = store.renew("d0", {job.id: 1}, [], lease_seconds=60).jobs
        assert bool(still) != bool(heirs)

    def test_claim_and_cancel_leave_one_of_two_states(self, store: ServiceStore) -> None:
        for _ in range(5):
            job = submit(store)
            claimed, cancelled = at_once(
                lambda: store.claim("d1", job.id, lease_seconds=60),  # noqa: B023
                lambda: store.cancel(job.id),  # noqa: B023
            )
            assert isinstance(cancelled, Submitted)
            if claimed is None:
                assert cancelled.state == "cancelled"
            else:
                assert cancelled.is_cancel_asked
                store.end_claimed(job.id, 1, "cancelled", "cancelled")
            assert kinds(store, job.id)[-1] == "end cancelled"

    def test_many_submitters_of_one_key_share_a_job(self, store: ServiceStore) -> None:
        asked = submission(idempotency_key="k", body_digest="d")
        found = at_once(*(lambda: store.submit(asked, Quota()) for _ in range(8)))
        answers = [answer for answer in found if not isinstance(answer, Exception)]
        assert len(answers) == 8, found
        assert len({job.id for job, _ in answers}) == 1
        assert [is_new for _, is_new in answers].count(True) == 1

    def test_submitters_at_once_stay_within_the_quota(self, store: ServiceStore) -> None:
        found = at_once(*(lambda: store.submit(submission(), Quota(jobs=3)) for _ in range(6)))
        refused = [answer for answer in found if isinstance(answer, QuotaExceeded)]
        assert len(refused) == 3, found
        assert len(store.list_submitted(JobFilter("ann"), Page())) == 3

    def test_proposal_and_claim_leave_no_round_of_a_loser(self, store: ServiceStore) -> None:
        job = submit(store)
        task_id = job.job.tasks[0][0]
        old = store.fenced(job.id, claim(store, job.id, lease_seconds=0).fence)

        def seen_by_heir() -> int:
            claim(store, job.id, "d2")
            return len(store.trials(task_id))

        proposed, seen = at_once(
            lambda: len(old.propose(task_id, 0, [trial(task_id, 0)])), seen_by_heir
        )
        assert proposed == 1 or isinstance(proposed, FenceLost)
        assert seen == len(store.trials(task_id)) == (1 if proposed == 1 else 0)

    def test_events_from_everywhere_have_no_gaps(self, store: ServiceStore) -> None:
        job = submit(store)

        def append() -> None:
            for n in range(10):
                store.append_event(job.id, "progress", {"n": n})

        def follow() -> list[int]:
            seen: list[int] = []
            while len(seen) < 41:
                after = seen[-1] if seen else 0
                seen += [e.number for e in store.events(job.id, after=after, limit=7)]
            return seen

        results: list[Any] = at_once(follow, *[append] * 4)
        assert results[1:] == [None] * 4
        assert results[0] == list(range(1, 42))

    def test_device_goes_to_one_of_many(self, store: ServiceStore) -> None:
        found = at_once(
            *(lambda n=n: store.lease_device(f"d{n}", "h/0", lease_seconds=60) for n in range(4))
        )
        assert found.count(True) == 1, found
        assert found.count(False) == 3, found

    def test_counts_from_everywhere_add_up(self, store: ServiceStore) -> None:
        def add() -> None:
            for _ in range(5):
                store.count({"a": 1, "b": 2})

        assert at_once(*[add] * 4) == [None] * 4
        assert store.counters() == {"a": 20, "b": 40}

    def test_new_keys_from_everywhere(self, store: ServiceStore) -> None:
        tasks = [task_spec(n) for n in range(1, 9)]
        found = at_once(
            *(lambda n=n: submit(store, f"o{n}", tasks=tasks[n:] + tasks[:n]) for n in range(6))
        )
        assert all(isinstance(job, Submitted) for job in found), found
