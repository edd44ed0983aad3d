"""Asking again while the database cannot answer: it restarts, or its host is away for a moment.

Every call of a store may be repeated after an error, so one wrapper serves them all. It gives up when the turns say
that the job is to stop: without heartbeats the lease ends, and what we would have written is another's to write.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from autosched.errors import StoreError

Result = TypeVar("Result")

FIRST_SECONDS = 0.05
MOST_SECONDS = 1.0


def patiently(
    call: Callable[[], Result],
    checkpoint: Callable[[], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Result:
    """The result of `call`, asked again after StoreErrors, at growing distances; `checkpoint` may raise to end it."""
    pause = FIRST_SECONDS
    while True:
        try:
            return call()
        except StoreError:
            checkpoint()
            sleep(pause)
            pause = min(2 * pause, MOST_SECONDS)


class Patient:
    """A store whose every call is made patiently."""

    def __init__(self, store: object, checkpoint: Callable[[], None]) -> None:
        self._store = store
        self._checkpoint = checkpoint

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._store, name)
        return lambda *a, **k: patiently(lambda: method(*a, **k), self._checkpoint)
