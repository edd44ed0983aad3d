"""Whose devices a dispatcher uses: its own host's, or those of hosts that come and go.

A fleet says who has joined, who is to go and who is gone; the dispatcher registers workers, leases their devices, and
says when it has let go of a worker that is to go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from autosched.jobs.record import SetupKey
from autosched.jobs.workers import Worker
from autosched_workers.lab import Lab


@dataclass(frozen=True)
class Joined:
    """A worker and the jobs that its devices serve; none for one that cannot be used, as its note says. `calibrations`:
    what its devices were measured to reach, as flat named numbers."""

    worker: Worker
    setups: frozenset[SetupKey]
    calibrations: Sequence[Mapping[str, float]] = ()


@dataclass(frozen=True)
class Draining:
    """It finishes what is under way, and is told when we have let go of it."""

    worker_id: str


@dataclass(frozen=True)
class Left:
    """It is gone, and what was under way there with it."""

    worker_id: str


News = Joined | Draining | Left


class Fleet(Protocol):
    lab: Lab
    """What jobs' processes measure with."""

    def files(self) -> Sequence[int]:
        """What can be read when there may be news."""
        ...

    def news(self) -> Sequence[News]:
        """Since the last call; never waits."""
        ...

    def release(self, worker_id: str) -> None:
        """Nothing of ours is under way on a worker that is to go."""
        ...

    def close(self) -> None: ...


class OwnHost:
    """The devices of this host, for as long as the dispatcher lives."""

    def __init__(self, lab: Lab, worker: Worker, setups: frozenset[SetupKey]) -> None:
        self.lab = lab
        self._news: list[News] = [Joined(worker, setups)]

    def files(self) -> Sequence[int]:
        return ()

    def news(self) -> Sequence[News]:
        news, self._news = self._news, []
        return news

    def release(self, worker_id: str) -> None:
        """It goes when we go."""

    def close(self) -> None: ...
