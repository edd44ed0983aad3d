"""What a job's process asks of the bridge, and what it hears: records over a socket that only this user can open.

A process holds no state in the bridge but the checks and inputs it has sent, each under a key; a bridge that was
started anew knows none, and says so.
"""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection

from autosched.codegen.kernel import Kernel
from autosched.entry.machine import Setup
from autosched.measure.protocol import Artefact, Check, InputSet, TimingPolicy


@dataclass(frozen=True)
class Address:
    """Where a bridge listens, and what tells it that the caller is ours."""

    path: str
    secret: bytes


@dataclass(frozen=True)
class Calibrate:
    """Answer: the text of a calibration."""

    device: str


@dataclass(frozen=True)
class Send:
    """Keeps arrays under a key for the calls that follow. Answer: None."""

    key: str
    arrays: Check | InputSet


@dataclass(frozen=True)
class Build:
    """On the hosts that only build, else on the devices'. Answer: a list of BuildResult."""

    devices: tuple[str, ...]
    setup: Setup
    kernels: tuple[Kernel, ...]
    together: bool


@dataclass(frozen=True)
class Measure:
    """Answer: a Measurement."""

    device: str
    setup: Setup
    artefact: Artefact
    check: str
    policy: TimingPolicy
    run: str


@dataclass(frozen=True)
class SideBySide:
    """Answer: a list of Timing or None."""

    device: str
    setup: Setup
    artefacts: tuple[Artefact, ...]
    inputs: str
    policy: TimingPolicy


Call = Calibrate | Send | Build | Measure | SideBySide


@dataclass(frozen=True)
class Lost:
    """It may have run or not; the words say what is gone."""

    why: str


@dataclass(frozen=True)
class Away:
    """Nothing has been done: the device cannot be used now."""

    why: str


@dataclass(frozen=True)
class Unknown:
    """Nothing has been done: what was sent under the key is not here."""

    key: str


@dataclass(frozen=True)
class Raised:
    """What was called raised; our own fault, or that of the input."""

    text: str


class Lines:
    """Connections to a bridge, one for each call under way, kept for the next. Each may be used by any thread."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._free: list[Connection] = []

    def ask(self, call: Call) -> object:
        """The answer; Away if no bridge takes the call, Lost if it ended under it."""
        try:
            line = self._line()
            line.send(call)
        except (EOFError, OSError) as error:
            return Away(f"no bridge: {error}")
        try:
            answer = line.recv()
        except (EOFError, OSError):
            return Lost("the bridge ended")
        with self._lock:
            self._free.append(line)
        return answer

    def close(self) -> None:
        with self._lock:
            while self._free:
                self._free.pop().close()

    def _line(self) -> Connection:
        with self._lock:
            if self._free:
                return self._free.pop()
        return Client(self._address.path, "AF_UNIX", authkey=self._address.secret)


def fresh_address(folder: str) -> Address:
    """For a bridge that is to listen in a private folder."""
    secret = os.urandom(32)
    return Address(f"{folder}/{hashlib.sha256(secret).hexdigest()[:12]}.sock", secret)
