"""The turns of a job whose devices a dispatcher hands out, over a pair of pipe ends that speak JSON.

| from the process | to the process |
|---|---|
| {"say": "ask"} | {"say": "grant", "devices": [...]} |
| {"say": "return"} | {"say": "stop", "why": ...} |
| {"say": "end", ...} | {"say": "alive", "at": ...}: the lease held at this time of the host's monotonic clock |

A process that hears nothing for half a lease stops as if it had been told to; one whose dispatcher is gone does so at
once, and ends hard after a grace.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from autosched.measure.device_lock import DeviceHold
from autosched.tuning.turns import Stopped

HARD_EXIT = 3

Turn = AbstractContextManager[DeviceHold | None]
"""A device in use; what is held, if it is this process that holds it."""


@dataclass(frozen=True)
class TurnRules:
    """`alternates`: a turn is a whole step. `lease_seconds`: of the job. `spent_seconds`: on devices, before this
    process."""

    alternates: bool
    lease_seconds: float
    grace_seconds: float
    spent_seconds: float


def send(pipe: Connection, **message: Any) -> None:
    pipe.send_bytes(json.dumps(message).encode())


def receive(pipe: Connection) -> dict[str, Any]:
    """The next message; EOFError when the other side is gone."""
    message: dict[str, Any] = json.loads(pipe.recv_bytes())
    return message


class GrantedTurns:
    """Turns (see `tuning.turns`). `use` is what a turn does on each of its devices: it locks it where it is this host's."""

    def __init__(self, pipe: Connection, rules: TurnRules, use: Callable[[str], Turn]) -> None:
        self._pipe = pipe
        self._rules = rules
        self._use = use
        self._heard = threading.Condition()
        self._granted: tuple[str, ...] = ()
        self._stop: str | None = None
        self._alive_at = time.monotonic()
        self._spent = rules.spent_seconds
        self._since: float | None = None
        self._devices: tuple[str, ...] = ()
        self._holds: list[DeviceHold] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def step(self) -> AbstractContextManager[None]:
        return self._turn() if self._rules.alternates else self._checked()

    def device(self) -> AbstractContextManager[None]:
        return nullcontext() if self._since is not None else self._turn()

    def checkpoint(self) -> None:
        with self._heard:
            self._check()
        if self._since is None:
            return
        for hold in self._holds:
            asked = time.monotonic()
            hold.give_way()
            self._since += time.monotonic() - asked  # that was another's

    def seconds(self) -> float:
        return self._spent + self._turn_seconds()

    def n_devices(self) -> int:
        return len(self._devices)

    def devices(self) -> Sequence[str]:
        """Those of this turn, or of the last one."""
        return self._devices

    @contextmanager
    def _checked(self) -> Iterator[None]:
        self.checkpoint()
        yield

    @contextmanager
    def _turn(self) -> Iterator[None]:
        self._devices = self._ask()
        try:
            with ExitStack() as stack:
                holds = [stack.enter_context(self._use(d)) for d in self._devices]
                self._holds = [h for h in holds if h is not None]
                self._since = time.monotonic()
                yield
        finally:
            self._holds = []
            self._spent += self._turn_seconds()
            self._since = None
            self._return()

    def _turn_seconds(self) -> float:
        """Those of the present turn, on all its devices."""
        since = self._since
        return 0.0 if since is None else (time.monotonic() - since) * len(self._devices)

    def _ask(self) -> tuple[str, ...]:
        with self._heard:
            self._check()
            self._send_ask()
            while not self._granted:
                self._heard.wait(self._rules.lease_seconds / 4)
                self._check()
            devices, self._granted = self._granted, ()
        return devices

    def _send_ask(self) -> None:
        try:
            send(self._pipe, say="ask")
        except OSError:
            raise Stopped("the dispatcher is gone") from None

    def _return(self) -> None:
        try:
            send(self._pipe, say="return")
        except OSError:
            with self._heard:
                self._stop = self._stop or "the dispatcher is gone"

    def _check(self) -> None:
        if self._stop is not None:
            raise Stopped(self._stop)
        if time.monotonic() - self._alive_at > self._rules.lease_seconds / 2:
            raise Stopped("no heartbeat for half a lease")

    def _listen(self) -> None:
        try:
            while True:
                self._hear(receive(self._pipe))
        except (EOFError, OSError):
            self._hear({"say": "stop", "why": "the dispatcher is gone"})
            time.sleep(self._rules.grace_seconds)
            os._exit(HARD_EXIT)

    def _hear(self, message: dict[str, Any]) -> None:
        with self._heard:
            match message["say"]:
                case "grant":
                    self._granted = tuple(message["devices"])
                case "stop":
                    self._stop = self._stop or message["why"]
                case "alive":
                    self._alive_at = max(self._alive_at, message["at"])
            self._heard.notify_all()
