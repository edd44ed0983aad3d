"""What a dispatcher decides: cases one by one, and invariants over random histories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autosched_workers.cluster.worker import DRAIN_SECONDS
from autosched_workers.decide import decide
from autosched_workers.messages import (
    Claimed,
    ClaimJob,
    Command,
    DeviceAsked,
    DeviceLeased,
    DeviceReturned,
    DeviceWithdrawn,
    Ended,
    EndJob,
    Event,
    Exited,
    Finish,
    Grant,
    JobEnd,
    KillProcess,
    NoteTurn,
    QueueSeen,
    ReleaseJob,
    Renewed,
    StartProcess,
    StopAsked,
    StopProcess,
    Tick,
)
from autosched_workers.state import Options, State
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from autosched.jobs.queue import Claim, Renewal, Survey, Waiting
from autosched.jobs.record import SetupKey
from tests.workers.claims import HERE, THERE, claim, waiting

OPTIONS = Options(
    slots=2, lease_seconds=10.0, quantum_seconds=5.0, grace_seconds=2.0, drain_seconds=50.0
)


def leased(device: str, *setups: SetupKey) -> DeviceLeased:
    return DeviceLeased(device, frozenset(setups or [HERE]))


TWO_DEVICES = (leased("h/d"), leased("h/e"))


def play(events: Sequence[Event], options: Options = OPTIONS) -> tuple[State, list[Command]]:
    """The state and all commands after these events."""
    state, said = State(options), list[Command]()
    for event in events:
        state, commands = decide(state, event)
        said += commands
    return state, said


def seen(
    *queue: Waiting,
    use: Mapping[str, float] | None = None,
    holding: Mapping[str, int] | None = None,
    hungry: int = 0,
) -> QueueSeen:
    return QueueSeen(Survey(queue, use or {}, holding or {}, hungry))


def all_kept(*jobs: str, at: float = 0.0) -> Renewed:
    return Renewed(at, Renewal(frozenset(jobs), frozenset({"h/d"}), frozenset()))


def test_a_job_is_claimed_started_and_ended() -> None:
    _, said = play(
        [
            leased("h/d"),
            seen(waiting("a")),
            Claimed(claim("a")),
            DeviceAsked("a"),
            Tick(3.0),
            DeviceReturned("a"),
            Ended("a", JobEnd("succeeded", "trials")),
            Exited("a", "with status 0"),
        ]
    )
    assert said == [
        ClaimJob("a"),
        StartProcess(claim("a")),
        Grant("a", ("h/d",)),
        NoteTurn("a", "ann", "h/d", 3.0),
        EndJob("a", 1, JobEnd("succeeded", "trials")),
    ]


def test_without_a_device_nothing_is_claimed() -> None:
    _, said = play([seen(waiting("a"))])
    assert said == []


def test_owners_share_the_slots() -> None:
    queue = (waiting("a1"), waiting("a2"), waiting("b1", "bob"), waiting("c1", "cat"))
    _, said = play([*TWO_DEVICES, seen(*queue, use={"bob": 5.0})])
    assert said == [ClaimJob("a1"), ClaimJob("c1")], "bob has had his, ann and cat nothing"


def test_owners_whose_jobs_others_hold_wait() -> None:
    queue = (waiting("a2"), waiting("b1", "bob"), waiting("c1", "cat"))
    _, said = play([*TWO_DEVICES, seen(*queue, use={"cat": 9.0}, holding={"ann": 1})])
    assert said == [ClaimJob("b1"), ClaimJob("c1")]


def test_a_higher_priority_comes_first_whoever_asks() -> None:
    queue = (waiting("a"), waiting("b", "bob"), waiting("z", "bob", priority=1))
    _, said = play([*TWO_DEVICES, seen(*queue, use={"bob": 99.0})])
    assert said == [ClaimJob("z"), ClaimJob("a")]


def test_beyond_its_devices_a_dispatcher_claims_one_at_a_time_and_none_while_others_have_none() -> (
    None
):
    queue = (waiting("b", "bob"), waiting("c", "cat"))
    state, _ = play([leased("h/d"), Claimed(claim("a"))], Options(slots=4))
    assert decide(state, seen(*queue))[1] == [ClaimJob("b")]
    assert decide(state, seen(*queue, hungry=1))[1] == []


def test_a_job_that_waits_for_a_device_goes_to_who_has_one() -> None:
    state, _ = play(
        [leased("h/d"), Claimed(claim("a")), DeviceAsked("a"), Claimed(claim("b", "bob"))]
    )
    assert decide(state, seen(waiting("c"), hungry=1))[1] == [], "there is one for them"
    state, said = decide(state, seen(hungry=1))
    assert said == [StopProcess("b", "yield")]
    assert decide(state, seen(hungry=2))[1] == [], "one at a time"


def test_the_device_goes_to_who_has_used_it_least() -> None:
    state, _ = play(
        [
            leased("h/d"),
            seen(use={"ann": 9.0, "bob": 1.0}),
            Claimed(claim("a")),
            Claimed(claim("b", "bob")),
        ]
    )
    state, first = decide(state, DeviceAsked("a"))
    assert first == [Grant("a", ("h/d",))], "it is free"
    state, _ = decide(state, DeviceAsked("b"))
    state, _ = decide(state, Tick(1.0))
    state, then = decide(state, DeviceReturned("a"))
    assert Grant("b", ("h/d",)) in then
    state, _ = decide(state, DeviceAsked("a"))
    state, _ = decide(state, Tick(2.0))
    _, last = decide(state, DeviceReturned("b"))
    assert Grant("a", ("h/d",)) in last


def test_a_job_yields_to_an_owner_who_has_had_less() -> None:
    full = [
        leased("h/d"),
        Claimed(claim("a")),
        Claimed(claim("b", "bob")),
        Tick(4.0),
        all_kept("a", "b", at=4.0),
    ]
    use = {"ann": 30.0, "bob": 28.0}
    state, _ = play(full)
    _, early = decide(state, seen(waiting("c", "cat"), use=use))
    assert early == [], "not before its quantum is over"
    state, _ = play([*full, Tick(6.0), all_kept("a", "b", at=6.0)])
    state, said = decide(state, seen(waiting("c", "cat"), use=use))
    assert said == [StopProcess("a", "yield")]
    _, again = decide(state, seen(waiting("c", "cat"), use=use))
    assert again == [], "one at a time"
    _, own = decide(state, seen(waiting("b2", "bob"), use=use))
    assert own == [], "bob has a job here"


def test_a_job_goes_to_a_device_that_serves_it() -> None:
    two = [leased("h/d"), leased("k/d", THERE)]
    queue = (waiting("a1"), waiting("a2"), waiting("a3", setup=THERE), waiting("a4", setup=THERE))
    _, said = play([*two, seen(*queue)], Options(slots=4))
    assert said == [ClaimJob("a1"), ClaimJob("a3")], "one for each device"
    held = [Claimed(claim("a1")), Claimed(claim("a3", setup=THERE)), DeviceAsked("a3")]
    state, said = play([*two, *held], Options(slots=4))
    assert said[-1] == Grant("a3", ("k/d",))
    elsewhere = waiting("a5", setup=SetupKey("t1-z", "c1-x"))
    assert decide(state, seen(elsewhere, waiting("a4", setup=THERE)))[1] == [ClaimJob("a4")]


def test_a_job_alone_uses_all_devices_in_turn() -> None:
    turn = (DeviceAsked("a"), DeviceReturned("a"))
    state, said = play([*TWO_DEVICES, Claimed(claim("a")), *turn, *turn, *turn])
    assert [c.devices for c in said if isinstance(c, Grant)] == [("h/d",), ("h/e",), ("h/d",)]
    state, _ = decide(state, leased("h/f"))
    _, said = decide(state, DeviceAsked("a"))
    assert said == [Grant("a", ("h/e",))], "that has rested longest"


def test_where_turns_spread_a_job_takes_what_nobody_else_asks_for() -> None:
    spreading = Options(slots=4, spreads=True)
    three = [*TWO_DEVICES, leased("h/f"), Claimed(claim("a")), Claimed(claim("b"))]
    state, said = play([*three, DeviceAsked("a")], spreading)
    assert said[-1] == Grant("a", ("h/d", "h/e", "h/f"))
    state, said = decide(state, DeviceAsked("b"))
    assert said == [], "a turn is not cut short"
    state = replace(state, now=2.0)
    state, said = decide(state, DeviceReturned("a"))
    assert said[:3] == [NoteTurn("a", "ann", d, 2.0) for d in ("h/d", "h/e", "h/f")]
    assert state.use["ann"] == 6.0, "each device counts"
    assert said[3:] == [Grant("b", ("h/d", "h/e", "h/f"))]


def test_who_asks_at_once_shares_before_anybody_has_two() -> None:
    elsewhere = leased("k/d", THERE)
    asked = [Claimed(claim("a")), Claimed(claim("b")), DeviceAsked("a"), DeviceAsked("b")]
    state, said = play([*asked, leased("h/d")], Options(slots=4, spreads=True))
    assert said[-1] == Grant("a", ("h/d",))
    state, _ = play(asked, Options(slots=4, spreads=True))
    devices = {d: frozenset([HERE]) for d in ("h/d", "h/e", "h/f")}
    state, said = decide(replace(state, devices=devices), elsewhere)
    assert said == [Grant("a", ("h/d", "h/f")), Grant("b", ("h/e",))]


def test_a_withdrawn_device_is_used_no_more() -> None:
    state, _ = play([*TWO_DEVICES, Claimed(claim("a")), DeviceAsked("a"), Claimed(claim("b"))])
    state, said = decide(state, DeviceWithdrawn("h/d"))
    assert said == [StopProcess("a", "withdrawn")]
    state, said = decide(state, DeviceAsked("b"))
    assert said == [Grant("b", ("h/e",))]
    _, said = decide(state, DeviceWithdrawn("h/d"))
    assert said == []


def test_what_runs_on_a_draining_host_has_time_to_end() -> None:
    state, _ = play([leased("h/d"), Claimed(claim("a")), DeviceAsked("a")])
    state, said = decide(state, DeviceWithdrawn("h/d", is_draining=True))
    assert said == [StopProcess("a", "withdrawn")]
    beat = Renewed(40.0, Renewal(frozenset({"a"}), frozenset(), frozenset()))
    state, _ = decide(state, beat)
    state, said = decide(state, Tick(40.0))
    assert said == []
    assert decide(state, Tick(50.0))[1][-1] == KillProcess("a"), "but not for ever"
    state, said = decide(state, DeviceWithdrawn("h/d"))
    assert said == [], "its host is gone after all"
    assert decide(state, Tick(42.0))[1] == [KillProcess("a")]
    assert Options.drain_seconds < DRAIN_SECONDS, "as long as the worker waits"


def test_who_lost_the_job_has_no_time_left_on_a_draining_host() -> None:
    state, _ = play([leased("h/d"), Claimed(claim("a")), DeviceAsked("a")])
    state, _ = decide(state, DeviceWithdrawn("h/d", is_draining=True))
    state, said = decide(state, Tick(5.0))
    assert said == []
    assert decide(state, Tick(7.0))[1] == [KillProcess("a")]


def test_a_job_that_nothing_serves_any_more_is_handed_over() -> None:
    two = [leased("h/d"), leased("k/d", THERE)]
    for devices in (two, two[1:]):
        state, _ = play([*devices, Claimed(claim("a", setup=THERE)), Claimed(claim("b"))])
        state, said = decide(state, DeviceWithdrawn("k/d"))
        assert StopProcess("a", "withdrawn") in said
        assert (StopProcess("b", "withdrawn") in said) == (devices != two)
    state, _ = play([*two, Claimed(claim("a", setup=THERE)), all_kept("a")])
    assert decide(state, seen())[1] == [StopProcess("a", "withdrawn")], "k/d is another's"


def test_half_a_lease_without_heartbeat_stops_everything() -> None:
    state, _ = play([leased("h/d"), Claimed(claim("a")), Claimed(claim("b", "bob"))])
    state, said = decide(state, Tick(5.0))
    assert said == [StopProcess("a", "lapsed"), StopProcess("b", "lapsed")]
    state, said = decide(state, DeviceAsked("a"))
    assert said == []
    _, said = decide(state, Tick(7.5))
    assert said == [KillProcess("a"), KillProcess("b")]


def test_a_job_lost_to_another_holder_is_forgotten() -> None:
    state, _ = play([leased("h/d"), Claimed(claim("a"))])
    _, said = decide(state, all_kept(at=1.0))
    assert said == [StopProcess("a", "lapsed")]


def test_a_cancelled_job_ends_cancelled_however_its_process_went() -> None:
    asked = Renewed(1.0, Renewal(frozenset({"a"}), frozenset({"h/d"}), frozenset({"a"})))
    ended = EndJob("a", 1, JobEnd("cancelled", "cancelled"))
    for last in ([Ended("a", None), Exited("a", "with status 0")], [Exited("a", "by signal 9")]):
        _, said = play([leased("h/d"), Claimed(claim("a")), asked, *last])
        assert StopProcess("a", "cancelled") in said
        assert said[-1] == ended
    _, said = play([Claimed(claim("a", is_cancel_asked=True))])
    assert said == [ended]


def test_shutdown_hands_over_what_was_stopped_in_time() -> None:
    state, said = play([leased("h/d"), Claimed(claim("a")), StopAsked()])
    assert said[-1] == StopProcess("a", "shutdown")
    state, _ = decide(state, Ended("a", None))
    state, said = decide(state, Exited("a", "with status 0"))
    assert said == [ReleaseJob("a", 1, is_clean=True)]
    assert Finish() in decide(state, Tick(1.0))[1]
    unstored = [Ended("a", None, is_clean=False), Exited("a", "with status 0")]
    _, said = play([leased("h/d"), Claimed(claim("a")), StopAsked(), *unstored])
    assert said[-1] == ReleaseJob("a", 1, is_clean=False), "a result could not be stored"
    state, _ = play([leased("h/d"), Claimed(claim("a")), StopAsked(), Tick(3.0)])
    _, said = decide(state, Exited("a", "by signal 9"))
    assert said == [ReleaseJob("a", 1, is_clean=False)], "a run may have been under way"


def test_a_process_that_dies_is_started_again_but_not_for_ever() -> None:
    state, _ = play([leased("h/d")])
    for _ in range(2):
        state, _ = decide(state, Claimed(claim("a")))
        state, said = decide(state, Exited("a", "by signal 11"))
        assert said == [ReleaseJob("a", 1, is_clean=False)]
    state, _ = decide(state, Claimed(claim("a")))
    state, said = decide(state, Exited("a", "by signal 11"))
    (end,) = said
    assert isinstance(end, EndJob)
    assert (end.end.state, end.end.reason) == ("failed", "error")
    assert "signal 11" in end.end.error


def test_progress_forgives_deaths() -> None:
    state, _ = play([leased("h/d")])
    for _ in range(7):
        for event in (
            Claimed(claim("a")),
            DeviceAsked("a"),
            DeviceReturned("a"),
            Exited("a", "by signal 9"),
        ):
            state, said = decide(state, event)
        assert said == [ReleaseJob("a", 1, is_clean=False)]


SETUPS = st.frozensets(st.sampled_from([HERE, THERE]), min_size=1)


class History(RuleBasedStateMachine):
    """A world around the state machine: processes that ask, return, end and die; leases that come and go."""

    options = OPTIONS

    def __init__(self) -> None:
        super().__init__()
        self.state = State(self.options)
        self.now = 0.0
        self.claims = 0
        self.processes: dict[str, Claim] = {}
        self.on_device: dict[str, set[str]] = {}
        self.asking: set[str] = set()
        self.told: dict[str, float] = {}
        self.latest: dict[str, float] = {}
        self.grace_seconds = OPTIONS.grace_seconds
        self.killed: set[str] = set()
        self.closed: dict[str, int] = {}
        self.wanted: list[str] = []
        self.is_finished = False

    def in_use(self) -> set[str]:
        return set[str]().union(*self.on_device.values())

    def happen(self, event: Event) -> None:
        self.state, commands = decide(self.state, event)
        for command in commands:
            self.obey(command)

    def obey(self, command: Command) -> None:
        match command:
            case ClaimJob(job_id):
                assert len(self.state.held) < OPTIONS.slots
                assert not self.state.is_lapsing
                assert not self.state.is_stopping
                self.wanted.append(job_id)
            case StartProcess(started):
                self.processes[started.submitted.id] = started
            case Grant(job_id, devices):
                setup = self.processes[job_id].submitted.setup
                assert devices, "a turn has a device"
                assert all(setup in self.state.devices[d] for d in devices), "one that serves it"
                assert self.in_use().isdisjoint(devices), "one job a device"
                assert not self.state.is_lapsing
                assert job_id in self.asking
                assert job_id not in self.told
                self.asking.discard(job_id)
                self.on_device[job_id] = set(devices)
            case StopProcess(job_id, _):
                assert job_id not in self.told, "told once"
                self.told[job_id] = self.now
                self.latest[job_id] = self.now + self.grace_seconds
            case KillProcess(job_id):
                assert self.now - self.told[job_id] >= OPTIONS.grace_seconds
                self.killed.add(job_id)
            case NoteTurn(job_id, _, device, seconds):
                assert seconds >= 0
                self.on_device[job_id].remove(device)
                if not self.on_device[job_id]:
                    del self.on_device[job_id]
            case EndJob(job_id, _, _) | ReleaseJob(job_id, _, _):
                assert job_id not in self.processes, "its process is gone first"
                self.closed[job_id] = self.closed.get(job_id, 0) + 1
            case Finish():
                self.is_finished = True
                assert not self.processes

    @rule(device=st.sampled_from(["h/d0", "h/d1"]), is_draining=st.booleans())
    def withdraw_a_device(self, device: str, *, is_draining: bool) -> None:
        self.grace_seconds = OPTIONS.drain_seconds if is_draining else OPTIONS.grace_seconds
        self.happen(DeviceWithdrawn(device, is_draining))
        self.grace_seconds = OPTIONS.grace_seconds

    @rule(
        owners=st.text("xyz", max_size=3),
        priority=st.integers(0, 1),
        hungry=st.integers(0, 1),
        setup=st.sampled_from([HERE, THERE]),
    )
    def see_a_queue(self, owners: str, priority: int, hungry: int, setup: SetupKey) -> None:
        queue = [Waiting(f"j{self.claims + i}", o, priority, setup) for i, o in enumerate(owners)]
        self.happen(seen(*queue, use={"x": self.now}, hungry=hungry))

    @precondition(lambda self: self.wanted)
    @rule(
        cancelled=st.booleans(),
        owner=st.sampled_from("xyz"),
        setup=st.sampled_from([HERE, THERE]),
    )
    def get_a_claim(self, *, cancelled: bool, owner: str, setup: SetupKey) -> None:
        self.wanted.pop()
        self.claims += 1
        self.happen(
            Claimed(claim(f"c{self.claims}", owner, setup=setup, is_cancel_asked=cancelled))
        )

    @rule(device=st.sampled_from(["h/d0", "h/d1"]), setups=SETUPS)
    def lease_a_device(self, device: str, setups: frozenset[SetupKey]) -> None:
        if not self.state.is_lapsing:
            self.happen(leased(device, *setups))

    @rule(seconds=st.floats(0.01, 4.0))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.happen(Tick(self.now))

    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        jobs = sorted(self.state.held)
        some = st.sets(st.sampled_from(jobs)) if jobs else st.just(set())
        kept = set(jobs) - data.draw(some) if data.draw(st.booleans()) else set(jobs)
        cancelled = data.draw(some)
        devices = self.state.devices.keys() if data.draw(st.booleans()) else ()
        renewal = Renewal(frozenset(kept), frozenset(devices), frozenset(cancelled & kept))
        self.happen(Renewed(self.now, renewal))

    @precondition(lambda self: self.processes)
    @rule(data=st.data())
    def ask_or_return(self, data: st.DataObject) -> None:
        job_id = data.draw(st.sampled_from(sorted(self.processes)))
        if job_id in self.on_device:
            self.happen(DeviceReturned(job_id))
        elif job_id not in self.asking:
            self.asking.add(job_id)
            self.happen(DeviceAsked(job_id))

    @precondition(lambda self: self.processes)
    @rule(data=st.data(), says=st.booleans())
    def end(self, data: st.DataObject, *, says: bool) -> None:
        job_id = data.draw(st.sampled_from(sorted(self.processes)))
        if says:
            stopped = job_id in self.told
            self.happen(Ended(job_id, None if stopped else JobEnd("succeeded", "trials")))
        del self.processes[job_id]
        self.asking.discard(job_id)
        self.told.pop(job_id, None)
        self.happen(Exited(job_id, "somehow"))
        assert self.closed.get(job_id) == 1, "a claim ends once"
        assert job_id not in self.on_device

    @rule()
    def ask_to_stop(self) -> None:
        if self.now > 20.0:
            self.happen(StopAsked())

    @invariant()
    def it_knows_its_processes(self) -> None:
        assert set(self.state.held) == set(self.processes)
        assert {
            j: set(h.devices) for j, h in self.state.held.items() if h.devices
        } == self.on_device

    @invariant()
    def who_was_told_is_killed_in_time(self) -> None:
        for job_id in self.told:
            assert self.now < self.latest[job_id] or job_id in self.killed


class SpreadHistory(History):
    options = replace(OPTIONS, spreads=True)


MANY = settings(max_examples=100, stateful_step_count=40, deadline=None)
History.TestCase.settings = SpreadHistory.TestCase.settings = MANY
TestHistory = History.TestCase
TestSpreadHistory = SpreadHistory.TestCase
