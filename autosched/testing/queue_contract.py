"""What a queue must do: one job a request, moved from state to state, with one holder at a time."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from autosched.errors import InvalidInput
from autosched.jobs.access import Token
from autosched.jobs.queue import (
    FenceLost,
    KeyReused,
    Quota,
    QuotaExceeded,
    Renewal,
    Turn,
    WrongState,
)
from autosched.jobs.record import JobFilter, Page, SetupKey, Submitted
from autosched.jobs.workers import Worker, WorkerState
from autosched.records.outcome import Outcome
from autosched.testing.records import (
    TARGET,
    TOOLCHAIN,
    TOOLCHAIN_KEY,
    failed,
    ok,
    open_job,
    task_spec,
    trial,
)
from autosched.testing.submissions import ServiceStore, claim, kinds, submission, submit

OTHER = replace(TARGET, core_kind="other")
SETUP = SetupKey(TARGET.key, TOOLCHAIN_KEY)
NOBODY = Renewal(frozenset(), frozenset(), frozenset())


class SubmitContract:
    """One job a request."""

    def test_job_comes_back_as_it_was_submitted(self, store: ServiceStore) -> None:
        specs = (replace(task_spec(64, weight=3), reference='{"op": 1}'), task_spec(128))
        asked = submission(
            tasks=specs,
            seed=2**70,
            seconds=90.0,
            policy="random",
            priority=3,
            labels={"team": "vision"},
        )
        job, is_new = store.submit(asked, Quota())
        assert is_new
        assert store.submitted(job.id) == job
        assert store.job(job.id) == job.job
        assert (job.state, job.is_terminal, job.fence, job.is_cancel_asked) == (
            "queued",
            False,
            0,
            False,
        )
        assert (job.owner, job.seconds, job.policy, job.priority) == ("ann", 90.0, "random", 3)
        assert job.labels == {"team": "vision"}
        assert tuple(spec for _, spec in job.job.tasks) == specs
        assert job.job.spec.seed == 2**70
        assert kinds(store, job.id) == ["job queued"]
        assert store.target(TARGET.key) == asdict(TARGET) | {"features": list(TARGET.features)}

    @pytest.mark.parametrize("char", ["\0", "\x1b", "\x9b", "\u202e", "\ud800"], ids=ascii)
    def test_what_is_no_plain_text_is_refused(self, store: ServiceStore, char: str) -> None:
        text = f"a{char}b"
        named = replace(task_spec(), name=text)
        worker = Worker("w", "h", TARGET.key, asdict(TARGET), 2, TOOLCHAIN_KEY, TOOLCHAIN, ())
        for call in (
            lambda: submit(store, labels={"team": text}),
            lambda: submit(store, labels={text: "vision"}),
            lambda: submit(store, text),
            lambda: store.submit(replace(submission(), source=text), Quota()),
            lambda: submit(store, idempotency_key=text),
            lambda: submit(store, tasks=[named]),
            lambda: store.add_token(Token("t", text, frozenset({"read"}), "digest")),
            lambda: store.register(replace(worker, id=text)),
            lambda: store.register(replace(worker, host=text)),
            lambda: store.register(replace(worker, devices=(text,))),
        ):
            with pytest.raises(InvalidInput, match="control characters"):
                call()
        assert store.list_submitted(JobFilter(), Page()) == ()
        store.register(replace(worker, note=f"broken:\n{text}"))
        assert store.workers()[0].note.startswith("broken:\na")

    def test_same_request_twice_is_two_jobs(self, store: ServiceStore) -> None:
        assert submit(store).id != submit(store).id
        assert submit(store, "bob").id != submit(store, "bob").id

    def test_idempotency_key_names_one_request_of_an_owner(self, store: ServiceStore) -> None:
        asked = submission(idempotency_key="k", body_digest="d1")
        job, _ = store.submit(asked, Quota())
        claim(store, job.id)
        again, is_new = store.submit(asked, Quota())
        assert (again.id, again.state, is_new) == (job.id, "running", False)
        with pytest.raises(KeyReused, match="'k'"):
            store.submit(replace(asked, body_digest="d2"), Quota())
        assert store.submit(replace(asked, owner="bob"), Quota())[1]

    def test_quota_of_jobs(self, store: ServiceStore) -> None:
        quota = Quota(jobs=2)
        first, _ = store.submit(submission(idempotency_key="k", body_digest="d"), quota)
        store.submit(submission(), quota)
        with pytest.raises(QuotaExceeded, match="of 2"):
            store.submit(submission(), quota)
        assert not store.submit(submission(idempotency_key="k", body_digest="d"), quota)[1]
        assert store.submit(submission("bob"), quota)[1]
        store.cancel(first.id)
        assert store.submit(submission(), quota)[1]

    def test_quota_of_bytes(self, store: ServiceStore) -> None:
        quota = Quota(upload_bytes=100)
        store.submit(submission(upload_bytes=60), quota)
        with pytest.raises(QuotaExceeded, match="101 bytes"):
            store.submit(submission(upload_bytes=41), quota)
        assert store.submit(submission(upload_bytes=40), quota)[1]
        assert store.submit(submission(), quota)[1]

    def test_local_commands_are_not_in_the_queue(self, store: ServiceStore) -> None:
        local = open_job(store)
        assert store.submitted(local.id) is None
        assert store.list_submitted(JobFilter(), Page()) == ()
        assert store.waiting([SETUP]) == ()
        assert store.claim("d1", local.id, lease_seconds=60) is None
        assert store.queue_depth() == {"queued": 0, "running": 0}

    def test_lists_are_newest_first_and_filtered(self, store: ServiceStore) -> None:
        ann = [submit(store, labels={"n": str(n)}) for n in range(5)]
        bob = submit(store, "bob", labels={"n": "1", "a.b": '"'})
        newest = sorted((job.id for job in ann), reverse=True)

        def listed(wanted: JobFilter, page: Page = Page()) -> list[str]:  # noqa: B008
            return [job.id for job in store.list_submitted(wanted, page)]

        mine = JobFilter("ann")
        assert listed(mine) == newest
        assert listed(mine, Page(2)) == newest[:2]
        assert listed(mine, Page(2, newest[1])) == newest[2:4]
        assert listed(mine, Page(2, newest[4])) == []
        assert set(listed(JobFilter())) == {*newest, bob.id}
        assert set(listed(JobFilter(label=("n", "1")))) == {ann[1].id, bob.id}
        assert listed(JobFilter("bob", label=("a.b", '"'))) == [bob.id]
        assert listed(JobFilter(label=('"', "$"))) == []
        claim(store, ann[2].id)
        assert listed(JobFilter("ann", "running")) == [ann[2].id]
        assert store.list_submitted(JobFilter("bob"), Page()) == (bob,)


class StateContract:
    """queued -> running -> an end -> perhaps again."""

    def test_claim_and_end(self, store: ServiceStore) -> None:
        job = submit(store)
        assert [w.job_id for w in store.waiting([SETUP])] == [job.id]
        held = claim(store, job.id)
        assert (held.fence, held.is_inherited, held.spent_seconds) == (1, False, 0.0)
        assert (held.submitted.state, held.submitted.fence) == ("running", 1)
        assert held.submitted.started_at is not None
        assert store.waiting([SETUP]) == ()
        assert store.queue_depth() == {"queued": 0, "running": 1}
        for _ in range(2):
            store.end_claimed(job.id, 1, "failed", "no_valid_candidate", "nothing was right")
        ended = self.found(store, job.id)
        assert (ended.state, ended.is_terminal) == ("failed", True)
        assert ended.job.end_reason == "no_valid_candidate"
        assert ended.job.ended_at is not None
        assert kinds(store, job.id) == ["job queued", "job running", "job failed", "end failed"]
        with pytest.raises(FenceLost):
            store.end_claimed(job.id, 1, "succeeded", "trials")
        assert store.claim("d2", job.id, lease_seconds=60) is None
        assert store.events(job.id, after=3)[0].data["error"] == "nothing was right"
        assert ended.error == "nothing was right"
        assert store.resume(job.id, trials=None, seconds=None).error == ""
        assert claim(store, job.id).fence == 2
        store.end_claimed(job.id, 2, "failed", "error", "a \0 and more")
        assert self.found(store, job.id).error == "a \N{SYMBOL FOR NULL} and more"

    def test_cancel_of_a_waiting_job_ends_it(self, store: ServiceStore) -> None:
        job = submit(store)
        for _ in range(2):
            cancelled = store.cancel(job.id)
            assert (cancelled.state, cancelled.job.end_reason) == ("cancelled", "cancelled")
        assert kinds(store, job.id) == ["job queued", "job cancelled", "end cancelled"]

    def test_cancel_of_a_held_job_tells_its_holder(self, store: ServiceStore) -> None:
        job = submit(store)
        claim(store, job.id)
        for _ in range(2):
            asked = store.cancel(job.id)
            assert (asked.state, asked.is_cancel_asked) == ("running", True)
        assert store.renew("d1", {job.id: 1}, [], lease_seconds=60).cancelled == {job.id}
        store.end_claimed(job.id, 1, "cancelled", "cancelled")
        assert store.cancel(job.id).state == "cancelled"
        assert kinds(store, job.id).count("end cancelled") == 1

    def test_cancel_asked_outlives_the_holder(self, store: ServiceStore) -> None:
        job = submit(store)
        claim(store, job.id)
        store.cancel(job.id)
        store.release("d1", job.id, 1)
        assert [w.job_id for w in store.waiting([SETUP])] == [job.id]
        assert claim(store, job.id, "d2").submitted.is_cancel_asked

    @pytest.mark.parametrize("over", ["handed over", "run out"])
    def test_cancel_of_a_job_whose_lease_is_over_ends_it(
        self, store: ServiceStore, over: str
    ) -> None:
        job = submit(store)
        claim(store, job.id, lease_seconds=0 if over == "run out" else 60)
        if over == "handed over":
            store.release("d1", job.id, 1)
        assert store.cancel(job.id).state == "cancelled"
        with pytest.raises(FenceLost):
            store.fenced(job.id, 1).resend(job.job.tasks[0][0])

    def test_cancel_of_a_job_that_ended_otherwise_is_refused(self, store: ServiceStore) -> None:
        job = submit(store)
        claim(store, job.id)
        store.end_claimed(job.id, 1, "succeeded", "trials")
        with pytest.raises(WrongState, match="succeeded"):
            store.cancel(job.id)
        with pytest.raises(WrongState, match="succeeded"):
            store.resume(job.id, trials=None, seconds=None)

    def test_resume_keeps_trials_and_takes_new_totals(self, store: ServiceStore) -> None:
        job = submit(store, trials=10, seconds=5.0)
        task_id = job.job.tasks[0][0]
        held = claim(store, job.id)
        store.fenced(job.id, 1).propose(task_id, 0, [trial(task_id, 0)])
        store.close(task_id, 0, ok())
        store.add_turn(Turn("h/0", job.id, "ann", 2.5))
        store.end_claimed(job.id, held.fence, "failed", "error")
        resumed = store.resume(job.id, trials=20, seconds=None)
        assert (resumed.state, resumed.job.spec.trials, resumed.seconds) == ("queued", 20, 5.0)
        assert (resumed.job.ended_at, resumed.job.end_reason) == (None, "")
        with pytest.raises(WrongState, match="queued"):
            store.resume(job.id, trials=None, seconds=None)
        again = claim(store, job.id, "d2")
        assert (again.fence, again.is_inherited, again.spent_seconds) == (2, False, 2.5)
        assert [t.measurement for t in store.trials(task_id)] == [ok()]

    def test_resume_below_what_is_spent_is_refused(self, store: ServiceStore) -> None:
        job = submit(store, tasks=[task_spec(64), task_spec(128)], trials=10)
        (first, _), (second, _) = job.job.tasks
        claim(store, job.id)
        store.propose(first, 0, [trial(first, n) for n in range(4)])
        store.close(first, 1, ok())
        store.close(first, 2, failed(Outcome.PRUNED))
        store.propose(second, 0, [trial(second, n) for n in range(3)])
        store.end_claimed(job.id, 1, "failed", "error")
        with pytest.raises(InvalidInput, match=r"trials is 3: .* has spent 4"):
            store.resume(job.id, trials=3, seconds=None)
        assert self.found(store, job.id).state == "failed"
        resumed = store.resume(job.id, trials=4, seconds=None)
        assert (resumed.state, resumed.job.spec.trials) == ("queued", 4)

    def test_resumed_job_is_not_the_old_holders(self, store: ServiceStore) -> None:
        job = submit(store)
        task_id = job.job.tasks[0][0]
        claim(store, job.id, lease_seconds=0)
        store.cancel(job.id)
        store.resume(job.id, trials=None, seconds=None)
        with pytest.raises(FenceLost):
            store.fenced(job.id, 1).propose(task_id, 0, [trial(task_id, 0)])
        assert store.renew("d1", {job.id: 1}, [], lease_seconds=60) == NOBODY

    def test_job_that_waited_too_long_fails(self, store: ServiceStore) -> None:
        overdue = submit(store, queue_seconds=0.0)
        patient = submit(store, queue_seconds=3600.0)
        started = submit(store, queue_seconds=0.0)
        claim(store, started.id)
        assert store.end_overdue() == 1
        assert store.end_overdue() == 0
        assert self.found(store, overdue.id).state == "failed"
        error = store.events(overdue.id, after=0)[-1].data["error"]
        assert error == f"not started within 0 s: no worker of target {TARGET.key} is there"
        assert self.found(store, overdue.id).error == error
        assert self.found(store, patient.id).state == "queued"
        assert self.found(store, started.id).state == "running"
        assert store.resume(overdue.id, trials=None, seconds=None).queued_until is not None

    @pytest.mark.parametrize("state", ["active", "draining"])
    def test_job_that_waited_too_long_knows_of_workers(
        self, store: ServiceStore, state: WorkerState
    ) -> None:
        """At any number of threads: a worker runs fewer, too."""
        for name, target in (("w", replace(TARGET, threads=TARGET.threads + 1)), ("o", OTHER)):
            fields = asdict(target)
            store.register(Worker(name, "h", target.key, fields, 2, TOOLCHAIN_KEY, TOOLCHAIN, ()))
        store.seen("w", state)
        overdue = submit(store, queue_seconds=0.0)
        store.end_overdue()
        there = {"active": "1 worker is there", "draining": "no worker"}[state]
        assert self.found(store, overdue.id).error.startswith(f"not started within 0 s: {there}")

    def test_unknown_job(self, store: ServiceStore) -> None:
        assert store.submitted("none") is None
        assert store.claim("d1", "none", lease_seconds=60) is None
        assert store.events("none", after=0) == ()
        assert store.list_trials("none", Page()) == ()
        for call in (
            lambda: store.cancel("none"),
            lambda: store.resume("none", trials=None, seconds=None),
            lambda: store.append_event("none", "progress", {}),
        ):
            with pytest.raises(KeyError, match="none"):
                call()

    @staticmethod
    def found(store: ServiceStore, job_id: str) -> Submitted:
        job = store.submitted(job_id)
        assert job is not None
        return job


class LeaseContract:
    """One holder at a time."""

    def test_held_job_is_nobody_elses(self, store: ServiceStore) -> None:
        job = submit(store)
        claim(store, job.id)
        assert store.claim("d2", job.id, lease_seconds=60) is None

    def test_holder_who_asks_again_has_the_same_claim(self, store: ServiceStore) -> None:
        job = submit(store)
        claim(store, job.id, "d0", lease_seconds=0)
        held = claim(store, job.id)
        assert held.is_inherited
        assert claim(store, job.id) == held
        assert kinds(store, job.id) == ["job queued", "job running"]

    def test_lease_that_ran_out_is_inherited(self, store: ServiceStore) -> None:
        job = submit(store)
        claim(store, job.id, lease_seconds=0)
        assert [w.job_id for w in store.waiting([SETUP])] == [job.id]
        held = claim(store, job.id, "d2")
        assert (held.fence, held.is_inherited) == (2, True)
        assert store.renew("d1", {job.id: 1}, [], lease_seconds=60) == NOBODY
        assert store.renew("d2", {job.id: 2}, [], lease_seconds=60).jobs == {job.id}

    @pytest.mark.parametrize("is_clean", [True, False])
    def test_handed_over_job_can_be_claimed_at_once(
        self, store: ServiceStore, is_clean: bool
    ) -> None:
        job = submit(store)
        claim(store, job.id)
        store.release("d2", job.id, 1)
        store.release("d1", job.id, 9)
        assert store.claim("d2", job.id, lease_seconds=60) is None, "those were not its holder"
        store.release("d1", job.id, 1, is_clean=is_clean)
        assert store.renew("d1", {job.id: 1}, [], lease_seconds=60) == NOBODY
        held = claim(store, job.id, "d2")
        assert (held.fence, held.is_inherited) == (2, not is_clean)

    def test_renewed_in_time_or_before_anybody_else(self, store: ServiceStore) -> None:
        job = submit(store)
        claim(store, job.id, lease_seconds=0)
        assert store.renew("d1", {job.id: 1}, [], lease_seconds=60).jobs == {job.id}
        assert store.claim("d2", job.id, lease_seconds=60) is None
        assert store.renew("d1", {job.id: 7, "none": 1}, ["h/0"], lease_seconds=60) == NOBODY

    def test_ended_job_has_no_lease(self, store: ServiceStore) -> None:
        job = submit(store)
        claim(store, job.id)
        store.end_claimed(job.id, 1, "succeeded", "trials")
        assert store.renew("d1", {job.id: 1}, [], lease_seconds=60) == NOBODY

    def test_device_is_one_holders(self, store: ServiceStore) -> None:
        assert store.lease_device("d1", "h/0", lease_seconds=60)
        assert store.lease_device("d1", "h/0", lease_seconds=60)
        assert not store.lease_device("d2", "h/0", lease_seconds=60)
        assert store.lease_device("d2", "h/1", lease_seconds=60)
        assert store.renew("d1", {}, ["h/0", "h/1"], lease_seconds=60).devices == {"h/0"}
        store.release_devices("d1")
        assert store.lease_device("d3", "h/0", lease_seconds=0)
        assert store.lease_device("d2", "h/0", lease_seconds=60)
        assert store.renew("d3", {}, ["h/0"], lease_seconds=60) == NOBODY

    def test_waiting_jobs_are_for_our_targets_in_order(self, store: ServiceStore) -> None:
        first, second = submit(store), submit(store)
        urgent = submit(store, "bob", priority=5)
        other = submit(store, target=OTHER)
        found = store.waiting([SETUP])
        assert [w.job_id for w in found] == [urgent.id, *sorted([first.id, second.id])]
        assert (found[0].owner, found[0].priority) == ("bob", 5)
        assert [
            w.job_id
            for w in store.waiting([SetupKey(OTHER.key, TOOLCHAIN_KEY), SetupKey("none", "none")])
        ] == [other.id]
        assert store.waiting([SetupKey(TARGET.key, "c1-other")]) == ()
        assert store.waiting([]) == ()

    def test_one_who_asks_for_much_hides_nobody(self, store: ServiceStore) -> None:
        for _ in range(20):
            submit(store, priority=1)
        late = [submit(store, owner).id for owner in ("bob", "cid")]
        found = {w.job_id for w in store.waiting([SETUP], limit=4)}
        assert len(found) == 4
        assert found.issuperset(late)

    def test_shares_are_counted_over_a_window(self, store: ServiceStore) -> None:
        jobs = {owner: submit(store, owner).id for owner in ("ann", "bob")}
        for owner, seconds in (("ann", 1.0), ("bob", 4.0), ("ann", 0.5)):
            store.add_turn(Turn("h/0", jobs[owner], owner, seconds))
        assert store.owner_seconds(window_seconds=3600) == {"ann": 1.5, "bob": 4.0}
        assert store.owner_seconds(window_seconds=0) == {}
        assert claim(store, jobs["ann"]).spent_seconds == 1.5

    def test_counters_add_up(self, store: ServiceStore) -> None:
        assert store.counters() == {}
        store.count({"leases_lost": 1, "duplicates": 2})
        store.count({"leases_lost": 3})
        store.count({})
        assert store.counters() == {"duplicates": 2, "leases_lost": 4}
