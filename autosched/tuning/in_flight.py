"""Runs under way at once: none waits for the result of the one before to be stored.

Storing costs a commit to the disk, as long as a short kernel's whole run. Where the device is not of these cores, it
need not wait for that: while one result is stored, the next candidate is measured, and where the device is far away
one more is on its way there. A death costs at most those, so there are never more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

Result = TypeVar("Result")


MOST_THREADS = 64


class InFlight:
    """At most so many calls at once on each device. One in all: each is made by who asks for its result. The threads of
    more start as they are needed and stay from one use to the next, for a process that one of them starts may end with
    it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._threads = ThreadPoolExecutor(MOST_THREADS)

    def results(
        self, calls: Iterable[Callable[[], Result]], n_devices: int = 1
    ) -> Generator[Result, None, None]:
        """The results of `calls` in order, no more of them under way or not yet taken than the devices may have. Where a
        call fails or is not to be had no further one is made: those under way still give their results, then it raises.
        Nothing is under way any more when it has ended, however it ends: who does not take all results closes it."""
        most = min(self._most * n_devices, MOST_THREADS)
        if most == 1:
            yield from (call() for call in calls)
            return
        pending: deque[Future[Result]] = deque()
        try:
            yield from self._in_order(iter(calls), pending, most)
        finally:
            wait([call for call in pending if not call.cancel()])

    def _in_order(
        self, wanted: Iterator[Callable[[], Result]], pending: deque[Future[Result]], most: int
    ) -> Iterator[Result]:
        errors: list[BaseException] = []
        while True:
            try:
                while not errors and len(pending) < most:
                    if (call := next(wanted, None)) is None:
                        break
                    pending.append(self._threads.submit(call))
            except BaseException as error:
                errors.append(error)
            if not pending:
                break
            try:
                yield pending[0].result()
            except Exception as error:
                errors.append(error)
            pending.popleft()
        if errors:
            raise errors[0]
