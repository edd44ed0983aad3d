"""The cluster as a lab (see `autosched_workers.lab`): what a job's process sees of it, through the bridge."""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from autosched.codegen.c import generate_c
from autosched.codegen.kernel import Kernel
from autosched.entry.machine import Machine, Setup
from autosched.errors import AutoschedError
from autosched.measure.protocol import (
    Artefact,
    BuildResult,
    Check,
    InputSet,
    TimingPolicy,
)
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Timing
from autosched.target.calibration import parse_calibration
from autosched_workers.cluster.calls import (
    Address,
    Away,
    Build,
    Calibrate,
    Call,
    Lines,
    Lost,
    Measure,
    Raised,
    Send,
    SideBySide,
    Unknown,
)
from autosched_workers.lab import Place
from autosched_workers.simulation.lab import TOOLCHAIN as SIMULATED
from autosched_workers.simulation.machine import simulated_text

AWAY_SECONDS = 0.1
"""Between two tries to reach a device that is away."""

TRIES = 3
"""Of what says nothing of a candidate, and may be done again."""

LOST_SECONDS = 5.0
"""Between the first two tries, and twice that before the third: by then a host that is dead is known to be."""

SHUNNED_SECONDS: Mapping[type, float] = {Lost: 10.0, Away: 1.0}
"""After such an answer, the device that it came of: one whose host is dead fails at once what it is given, until that is
known, and one that is away has always least to do."""


class ClusterFault(AutoschedError):
    """What was called on a node raised, or was lost again and again."""


@dataclass(frozen=True)
class ClusterLab:
    """The devices that a bridge reaches."""

    address: Address

    @property
    def alternates(self) -> bool:
        return False

    @property
    def spreads(self) -> bool:
        return True

    @property
    def in_flight(self) -> int:
        return 2

    @contextmanager
    def open(self, setup: Setup, seed: int, place: Place) -> Iterator[Machine]:
        lines = Lines(self.address)
        remote = _Remote(lines, setup, place)
        generate = simulated_text if setup.toolchain.name == SIMULATED.name else generate_c
        try:
            calibration = parse_calibration(remote.calibration())
            yield Machine(setup, remote, remote, calibration, generate)
        finally:
            lines.close()

    def turn(self, device: str) -> AbstractContextManager[None]:
        """The node locks it, run by run."""
        return nullcontext()


class _Remote:
    """Builder and Runner on the devices of the turn. All of it may raise Stopped, while a device is away."""

    def __init__(self, lines: Lines, setup: Setup, place: Place) -> None:
        self._lines = lines
        self._setup = setup
        self._place = place
        self._lock = threading.Lock()
        # Process ids come again, and hosts keep arrays by their keys.
        self._name = secrets.token_hex(8)
        self._keys: dict[int, tuple[object, str]] = {}
        self._under_way = Counter[str]()
        self._shunned_until: dict[str, float] = {}

    def calibration(self) -> str:
        return str(self._repeated(Calibrate))

    def build(self, kernels: Sequence[Kernel], *, together: bool = False) -> list[BuildResult]:
        if not kernels:
            return []
        built = self._repeated(
            lambda _: Build(tuple(self._place.devices()), self._setup, tuple(kernels), together)
        )
        assert isinstance(built, list)
        return built

    def measure(
        self, artefact: Artefact, check: Check, policy: TimingPolicy, *, run: str = ""
    ) -> Measurement:
        key = self._key(check)
        found = self._once(
            lambda d: Measure(d, self._setup, artefact, key, policy, run), arrays=check
        )
        if isinstance(found, Lost):
            return Measurement(Outcome.LOST, error=found.why, source_digest=artefact.kernel.digest)
        assert isinstance(found, Measurement)
        return found

    def side_by_side(
        self, artefacts: Sequence[Artefact], inputs: InputSet, policy: TimingPolicy
    ) -> list[Timing | None]:
        key = self._key(inputs)
        found = self._repeated(
            lambda d: SideBySide(d, self._setup, tuple(artefacts), key, policy), arrays=inputs
        )
        assert isinstance(found, list)
        return found

    def _repeated(self, call: Callable[[str], Call], arrays: Check | InputSet | None = None) -> Any:
        """Of what may be done again where it was lost."""
        losses: list[str] = []
        while len(losses) < TRIES:
            self._rest(LOST_SECONDS * len(losses))
            answer = self._once(call, arrays)
            if not isinstance(answer, Lost):
                return answer
            losses.append(answer.why)
        raise ClusterFault(f"lost {TRIES} times: {'; '.join(losses)}")

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._place.checkpoint()
            time.sleep(AWAY_SECONDS)

    def _once(self, call: Callable[[str], Call], arrays: Check | InputSet | None = None) -> object:
        """Waits until a device can be used."""
        while True:
            self._place.checkpoint()
            with self._device() as device:
                answer = self._asked(device, call)
            if isinstance(answer, Unknown):
                assert arrays is not None, "only what was to be sent can be unknown"
                answer = self._lines.ask(Send(answer.key, arrays))
            match answer:
                case None:
                    continue  # what was sent is there now
                case Away():
                    time.sleep(AWAY_SECONDS)
                case Raised(text):
                    raise ClusterFault(text)
                case _:
                    return answer

    def _asked(self, device: str, call: Callable[[str], Call]) -> object:
        if self._is_shunned(device):
            return Away(f"{device} could not be used just now, and no other can")
        answer = self._lines.ask(call(device))
        self._shunned_until[device] = time.monotonic() + SHUNNED_SECONDS.get(type(answer), 0.0)
        return answer

    def _is_shunned(self, device: str) -> bool:
        return time.monotonic() < self._shunned_until.get(device, 0.0)

    @contextmanager
    def _device(self) -> Iterator[str]:
        """The one that has least to do, of those that are not shunned if there are any."""
        with self._lock:
            devices = self._place.devices()
            device = min(devices, key=lambda d: (self._is_shunned(d), self._under_way[d]))
            self._under_way[device] += 1
        try:
            yield device
        finally:
            with self._lock:
                self._under_way[device] -= 1

    def _key(self, arrays: object) -> str:
        """Its name; what has a name is kept, so that no other object takes its place."""
        with self._lock:
            fresh = (arrays, f"{self._name}-{len(self._keys)}")
            return self._keys.setdefault(id(arrays), fresh)[1]
