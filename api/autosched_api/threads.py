"""The store's calls block, so they run in a few threads; requests that wait for one are bounded too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from autosched_api.problems import Problem

Result = TypeVar("Result")


class StoreThreads:
    """For the event loop, which starts calls and never waits for one."""

    def __init__(self, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="store")
        self._most = threads + waiting
        self._under_way = 0

    async def run(self, work: Callable[[], Result]) -> Result:
        """The result of `work` in a thread. Problem: too many wait already."""
        if self._under_way >= self._most:
            raise Problem("busy", f"{self._under_way} requests wait for the database")
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._under_way -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
