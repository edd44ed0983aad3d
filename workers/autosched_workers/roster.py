"""The workers that a fleet has told of: what they offer while they are to stay, and which of the others we have let go."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from autosched.jobs.record import SetupKey
from autosched.jobs.workers import WorkerState
from autosched_workers.fleet import Joined


class Roster:
    """By worker id."""

    def __init__(self) -> None:
        self._joined: dict[str, Joined] = {}
        self._draining: set[str] = set()
        self._to_release: set[str] = set()

    def join(self, news: Joined) -> None:
        self._joined[news.worker.id] = news

    def drain(self, worker_id: str) -> bool:
        """It is to go. False: we do not know it."""
        if worker_id not in self._joined:
            return False
        self._draining.add(worker_id)
        self._to_release.add(worker_id)
        return True

    def leave(self, worker_id: str) -> None:
        del self._joined[worker_id]
        self._draining.discard(worker_id)
        self._to_release.discard(worker_id)

    def devices(self, worker_id: str) -> tuple[str, ...]:
        return self._joined[worker_id].worker.devices

    def offered(self) -> Mapping[str, frozenset[SetupKey]]:
        """The devices that serve anything, of workers that are to stay."""
        return {
            device: joined.setups
            for worker_id, joined in self._joined.items()
            if joined.setups and worker_id not in self._draining
            for device in joined.worker.devices
        }

    def states(self) -> Mapping[str, WorkerState]:
        return {
            worker_id: "draining" if worker_id in self._draining else joined.worker.state
            for worker_id, joined in self._joined.items()
        }

    def let_go(self, used: AbstractSet[str]) -> list[str]:
        """Those that are to go and have no device in use; each is named once."""
        free = [w for w in sorted(self._to_release) if used.isdisjoint(self.devices(w))]
        self._to_release.difference_update(free)
        return free
