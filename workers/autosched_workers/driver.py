"""The dispatcher at work: asks the database and the jobs' processes what happens, and does what `decide` says.

Nothing here decides. A database that cannot answer delays what is to be written to it, never loses it: such writes wait
in order, and whether they still hold is for fences to say.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from autosched.db.store import SqlTuningStore
from autosched.entry.service_log import Log
from autosched.errors import StoreError
from autosched.jobs.counters import LEASES_LOST
from autosched.jobs.fair import WINDOW_SECONDS
from autosched.jobs.queue import Claim, FenceLost, Turn
from autosched.jobs.record import SetupKey
from autosched.measure.janitor import sweep
from autosched_workers.decide import decide
from autosched_workers.fleet import Draining, Fleet, Joined, Left, News
from autosched_workers.job_process import Assignment
from autosched_workers.messages import (
    Claimed,
    ClaimJob,
    Command,
    DeviceLeased,
    DeviceWithdrawn,
    EndJob,
    Event,
    Finish,
    Grant,
    KillProcess,
    NoteTurn,
    QueueSeen,
    Reassure,
    ReleaseJob,
    Renewed,
    StartProcess,
    StopAsked,
    StopProcess,
    Tick,
)
from autosched_workers.processes import JobProcesses
from autosched_workers.roster import Roster
from autosched_workers.state import Options, State
from autosched_workers.timers import Timers
from autosched_workers.turns import TurnRules

Result = TypeVar("Result")


@dataclass(frozen=True)
class Post:
    """Where a dispatcher stands: its database, and the name under which it holds jobs and devices."""

    db: str
    holder: str


class Dispatcher:
    """Runs until `stop` has been called and all it held is handed over."""

    def __init__(
        self, post: Post, store: SqlTuningStore, fleet: Fleet, options: Options, log: Log
    ) -> None:
        self._post = post
        self._store = store
        self._fleet = fleet
        self._log = log
        self._processes = JobProcesses(fleet.lab)
        self._roster = Roster()
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_reader, False)
        self._stop_asked = False
        self._finished = False
        self._writes: deque[Callable[[], None]] = deque()
        now = time.monotonic()
        options = replace(options, spreads=fleet.lab.spreads)
        self._state = State(options, now=now, renewed_at=now)
        self._timers = _timers(options.lease_seconds, now)

    def stop(self) -> None:
        """Asks for the end; may be called from a signal handler."""
        self._stop_asked = True
        os.write(self._wake_writer, b"x")

    def run(self) -> None:
        self._log.info("dispatcher_started")
        while not self._finished:
            for name in self._timers.due(time.monotonic()):
                DUE[name](self)
            self._write_what_waits()
            for news in self._fleet.news():
                NEWS[type(news)](self, news)
            for event in self._wait():
                self._handle(event)
            self._let_go()
        self._store.release_devices(self._post.holder)
        for worker_id in self._roster.states():
            self._store.seen(worker_id, "gone")
        self._log.info("dispatcher_ended")

    def _wait(self) -> list[Event]:
        seconds = self._timers.seconds_left(time.monotonic())
        events = self._processes.wait([self._wake_reader, *self._fleet.files()], seconds)
        if self._stop_asked and not self._state.is_stopping:
            events.append(StopAsked())
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_reader, 64)
        return [Tick(time.monotonic()), *events]

    def _handle(self, event: Event) -> None:
        self._state, commands = decide(self._state, event)
        for command in commands:
            DOERS[type(command)](self, command)

    # What is due.

    def _renew(self) -> None:
        at = time.monotonic()
        fences = {j: h.fence for j, h in self._state.held.items()}
        devices = sorted(self._state.devices)
        renewal = self._asked(
            lambda: self._store.renew(
                self._post.holder,
                fences,
                devices,
                lease_seconds=self._state.options.lease_seconds,
            )
        )
        if renewal is None:
            return
        for job_id in sorted(fences.keys() - renewal.jobs):
            self._log.warning("lease_lost", job=job_id)
            self._count(LEASES_LOST)
        self._handle(Renewed(at, renewal))

    def _look(self) -> None:
        """At the queue, unless there is nothing we could do about it."""
        if not self._state.devices or self._state.is_stopping:
            return
        setups = frozenset[SetupKey]().union(*self._state.devices.values())
        survey = self._asked(
            lambda: self._store.survey(self._post.holder, setups, window_seconds=WINDOW_SECONDS)
        )
        if survey is not None:
            self._handle(QueueSeen(survey))

    def _lease_devices(self) -> None:
        if self._state.is_stopping or self._state.is_lapsing:
            return
        lease = self._state.options.lease_seconds
        offered = self._roster.offered()
        for device in sorted(offered.keys() - self._state.devices.keys()):
            take = partial(self._store.lease_device, self._post.holder, device, lease_seconds=lease)
            if self._asked(take):
                self._log.info("device_leased", device=device)
                self._handle(DeviceLeased(device, offered[device]))
                self._timers.hurry("look")

    def _be_seen(self) -> None:
        for worker_id, state in self._roster.states().items():
            self._asked(partial(self._store.seen, worker_id, state))

    def _end_overdue(self) -> None:
        n = self._asked(self._store.end_overdue)
        if n:
            self._log.info("jobs_overdue", n=n)

    def _sweep(self) -> None:
        n = sweep()
        if n:
            self._log.warning("strays_ended", n=n)

    # What is heard of workers.

    def _worker_joined(self, news: Joined) -> None:
        worker = news.worker
        self._roster.join(news)
        self._log.info("worker_joined", worker=worker.id, state=worker.state, note=worker.note)
        self._write(lambda: self._store.register(worker))
        for values in news.calibrations:
            self._write(partial(self._calibrate, worker.target_key, values))
        self._timers.hurry("lease")

    def _calibrate(self, target_key: str, values: Mapping[str, float]) -> None:
        self._store.calibrate(target_key, values)

    def _worker_draining(self, news: Draining) -> None:
        if self._roster.drain(news.worker_id):
            self._log.info("worker_draining", worker=news.worker_id)
            self._withdraw(news.worker_id, is_draining=True)
            self._timers.hurry("seen")

    def _worker_left(self, news: Left) -> None:
        self._log.warning("worker_left", worker=news.worker_id)
        self._withdraw(news.worker_id)
        self._roster.leave(news.worker_id)
        self._write(lambda: self._store.seen(news.worker_id, "gone"))

    def _withdraw(self, worker_id: str, *, is_draining: bool = False) -> None:
        for device in self._roster.devices(worker_id):
            self._handle(DeviceWithdrawn(device, is_draining))

    def _let_go(self) -> None:
        """Of workers that are to go, once no job is on a device of theirs."""
        used = {d for h in self._state.held.values() for d in h.devices}
        for worker_id in self._roster.let_go(used):
            self._fleet.release(worker_id)

    # What is commanded.

    def _claim(self, command: ClaimJob) -> None:
        lease = self._state.options.lease_seconds
        claim = self._asked(
            lambda: self._store.claim(self._post.holder, command.job_id, lease_seconds=lease)
        )
        if claim is not None:
            self._log.info(
                "job_claimed", job=command.job_id, fence=claim.fence, inherited=claim.is_inherited
            )
            self._handle(Claimed(claim))

    def _start(self, command: StartProcess) -> None:
        self._processes.start(self._assignment(command.claim))

    def _assignment(self, claim: Claim) -> Assignment:
        options, submitted = self._state.options, claim.submitted
        rules = TurnRules(
            self._fleet.lab.alternates,
            options.lease_seconds,
            options.grace_seconds,
            claim.spent_seconds,
        )
        return Assignment(
            self._post.db,
            submitted.id,
            claim.fence,
            claim.is_inherited,
            submitted.seconds,
            submitted.policy,
            rules,
        )

    def _grant(self, command: Grant) -> None:
        self._processes.say(command.job_id, say="grant", devices=command.devices)

    def _reassure(self, command: Reassure) -> None:
        self._processes.say(command.job_id, say="alive", at=command.at)

    def _stop_process(self, command: StopProcess) -> None:
        self._log.info("job_stopping", job=command.job_id, why=command.why)
        self._processes.say(command.job_id, say="stop", why=command.why)

    def _kill(self, command: KillProcess) -> None:
        self._log.warning("job_killed", job=command.job_id)
        self._processes.kill(command.job_id)

    def _note_turn(self, command: NoteTurn) -> None:
        turn = Turn(command.device, command.job_id, command.owner, command.seconds)
        self._write(lambda: self._store.add_turn(turn))

    def _release(self, command: ReleaseJob) -> None:
        self._log.info("job_released", job=command.job_id, clean=command.is_clean)
        self._write(
            lambda: self._store.release(
                self._post.holder, command.job_id, command.fence, is_clean=command.is_clean
            )
        )
        self._timers.hurry("look")

    def _end(self, command: EndJob) -> None:
        end = command.end
        self._log.info("job_ended", job=command.job_id, state=end.state, reason=end.reason)
        self._write(
            lambda: self._store.end_claimed(
                command.job_id, command.fence, end.state, end.reason, end.error
            )
        )
        self._timers.hurry("look")

    def _finish(self, command: Finish) -> None:
        self._finished = not self._writes

    # The database.

    def _asked(self, call: Callable[[], Result]) -> Result | None:
        """The answer, or None while there is none to be had."""
        try:
            return call()
        except StoreError as error:
            self._log.warning("database_away", error=str(error)[:200])
            return None

    def _write(self, call: Callable[[], None]) -> None:
        self._writes.append(call)
        self._write_what_waits()

    def _write_what_waits(self) -> None:
        while self._writes:
            try:
                self._writes[0]()
            except StoreError as error:
                self._log.warning("database_away", error=str(error)[:200])
                return
            except FenceLost as error:
                self._log.warning("fence_lost", error=str(error))
            self._writes.popleft()

    def _count(self, name: str) -> None:
        self._write(lambda: self._store.count({name: 1}))


DUE: Mapping[str, Callable[[Dispatcher], None]] = {
    "renew": Dispatcher._renew,
    "look": Dispatcher._look,
    "lease": Dispatcher._lease_devices,
    "seen": Dispatcher._be_seen,
    "overdue": Dispatcher._end_overdue,
    "sweep": Dispatcher._sweep,
}

NEWS: Mapping[type[News], Callable[[Dispatcher, Any], None]] = {
    Joined: Dispatcher._worker_joined,
    Draining: Dispatcher._worker_draining,
    Left: Dispatcher._worker_left,
}

DOERS: Mapping[type[Command], Callable[[Dispatcher, Any], None]] = {
    ClaimJob: Dispatcher._claim,
    StartProcess: Dispatcher._start,
    Grant: Dispatcher._grant,
    Reassure: Dispatcher._reassure,
    StopProcess: Dispatcher._stop_process,
    KillProcess: Dispatcher._kill,
    NoteTurn: Dispatcher._note_turn,
    ReleaseJob: Dispatcher._release,
    EndJob: Dispatcher._end,
    Finish: Dispatcher._finish,
}


def _timers(lease_seconds: float, now: float) -> Timers:
    """A lease is renewed ten times in its life; sooner than a fifth of a second nothing is asked again."""
    periods = {
        "renew": lease_seconds / 10,
        "lease": lease_seconds / 15,
        "look": 0.5,
        "seen": 10.0,
        "overdue": 10.0,
        "sweep": 30.0,
    }
    return Timers(periods, now)
