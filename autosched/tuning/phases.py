"""Where the wall time of a job goes: one clock that is always in exactly one phase.

clock = PhaseClock()
with clock.phase("build"):
    ...                        # a phase inside a phase pauses the outer one
clock.seconds()                # {"search": ..., "other": ...}; the values sum to the wall time since the start
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

Phase = Literal["search", "build", "run", "model", "other"]
PHASES: tuple[Phase, ...] = ("search", "build", "run", "model", "other")


class PhaseClock:
    """Exclusive seconds of each phase; time outside every phase is `other`."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._spent: dict[Phase, float] = dict.fromkeys(PHASES, 0.0)
        self._stack: list[Phase] = ["other"]
        self._since = now()

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        self._settle()
        self._stack.append(name)
        try:
            yield
        finally:
            self._settle()
            self._stack.pop()

    def seconds(self) -> dict[Phase, float]:
        """Seconds of every phase up to now."""
        self._settle()
        return dict(self._spent)

    def _settle(self) -> None:
        moment = self._now()
        self._spent[self._stack[-1]] += moment - self._since
        self._since = moment
