"""When a job may work: its turns on a device that others want too, and the moment at which it is to stop.

with turns.step():            # one round or side-by-side run, the search included
    proposals = ...
    with turns.device():      # building and measuring
        ...
        turns.checkpoint()    # between two trials

Where search and measuring share cores, a job that searches disturbs the one that is being timed: there a turn is the
whole step. Elsewhere it is what happens on the device, and the next round is searched while others measure.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Stopped(Exception):
    """The job is to end here and keep what is done; the message says why."""


class Turns(Protocol):
    """The turns of one job. All of it may raise Stopped."""

    def step(self) -> AbstractContextManager[None]: ...

    def device(self) -> AbstractContextManager[None]: ...

    def checkpoint(self) -> None: ...

    def n_devices(self) -> int:
        """Of this turn, or of the last one."""
        ...

    def seconds(self) -> float:
        """Time that the job had devices, summed over them, earlier runs of it included."""
        ...


class Alone:
    """The turns of who has the machine for itself: always."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def step(self) -> AbstractContextManager[None]:
        return nullcontext()

    def device(self) -> AbstractContextManager[None]:
        return nullcontext()

    def checkpoint(self) -> None:
        """Nobody asks it to stop but an interrupt."""

    def n_devices(self) -> int:
        return 1

    def seconds(self) -> float:
        return time.monotonic() - self._since
