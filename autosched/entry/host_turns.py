"""The turns of a command on this host's device, which workers of a service and other commands want too.

It holds the device step by step, and between two trials gives way to who waits: each of two has every second run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from autosched.measure.device_lock import DeviceHold, device_lock
from autosched.tuning.turns import Alone


class HostTurns(Alone):
    """`on_wait` is told once who else has the device."""

    def __init__(self, device: str, on_wait: Callable[[str], None]) -> None:
        super().__init__()
        self._device = device
        self._on_wait = on_wait
        self._has_waited = False
        self._hold: DeviceHold | None = None

    def step(self) -> AbstractContextManager[None]:
        return self._turn()

    def device(self) -> AbstractContextManager[None]:
        return nullcontext() if self._hold is not None else self._turn()

    def checkpoint(self) -> None:
        if self._hold is not None:
            self._hold.give_way()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with device_lock(self._device, on_wait=self._tell) as hold:
            self._hold = hold
            try:
                yield
            finally:
                self._hold = None

    def _tell(self, words: str) -> None:
        if not self._has_waited:
            self._on_wait(words)
            self._has_waited = True
