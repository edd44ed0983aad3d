"""Answers that are asked for again and again are kept fresh: whether their winners still stand is read for hundreds at
once, in a fraction of the time that finding them anew takes.

    asked within the last 5 s -> stamps of their workloads, every 0.4 s -> as they were: the answer is as fresh as this
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from autosched.errors import StoreError
from autosched.records.store import Stamps
from autosched_api.cache import FreshCache
from autosched_api.problems import Problem
from autosched_api.threads import StoreThreads

PERIOD = 0.4
"""Of the seconds that an answer is fresh: time enough for a reading before they are over."""

REMEMBERED_SECONDS = 5.0
"""Of an answer that nobody asks for any more: one that is asked for once in a while is still at hand then."""

BATCH = 200
MOST = 5_000
"""Answers renewed a period; others are found anew when they are asked for."""

Key = tuple[str, ...]
"""Of an answer; its workload's key comes first."""


@dataclass(frozen=True)
class Found:
    """An answer as it goes out, and its kind for the counters. `stamps`: of the winners it depends on; None where it
    depends on more."""

    body: bytes
    match: str
    stamps: Stamps | None


class StampStore(Protocol):
    """What is read."""

    def stamps(self, workload_keys: Sequence[str]) -> Mapping[str, Stamps]: ...


class Renewal:
    """For the event loop: `note` is told of each answer that was used."""

    def __init__(
        self, store: StampStore, threads: StoreThreads, kept: FreshCache[Key, Found], seconds: float
    ) -> None:
        self._store = store
        self._threads = threads
        self._kept = kept
        self._seconds = PERIOD * seconds
        self._used: dict[Key, float] = {}
        self._task: asyncio.Task[None] | None = None

    def note(self, key: Key) -> None:
        self._used[key] = self._kept.now()
        if self._task is None:
            self._begin()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._renew())

    async def _renew(self) -> None:
        """After a while, renews what was used lately; then another one begins, if anything was."""
        await asyncio.sleep(self._seconds)
        used = self._recent()
        with contextlib.suppress(StoreError, Problem):
            for start in range(0, len(used), BATCH):
                await self._renew_some(used[start : start + BATCH])
            # what is not renewed is found anew, or says itself that it cannot be
        self._task = None
        if used:
            self._begin()

    def _recent(self) -> list[Key]:
        """The last used, and forget the others."""
        since = self._kept.now() - REMEMBERED_SECONDS
        recent = sorted((at, key) for key, at in self._used.items() if at > since)[-MOST:]
        self._used = {key: at for at, key in recent}
        return list(self._used)

    async def _renew_some(self, keys: Sequence[Key]) -> None:
        now = self._kept.now()
        workloads = [key[0] for key in keys]
        stamps = await self._threads.run(lambda: self._store.stamps(workloads))
        for key in keys:
            found = self._kept.peek(key)
            if found is not None and found.stamps == stamps.get(key[0], ()):
                self._kept.renew(key, now)
            else:
                self._kept.drop(key)
