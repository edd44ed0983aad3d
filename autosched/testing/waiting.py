"""Waiting for what another process does: a condition asked again and again, up to a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def until(condition: Callable[[], Found], *, seconds: float = 30.0, pause: float = 0.05) -> Found:
    """The first true answer of `condition`; AssertionError if there is none within `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: the last answer was {found!r}")
        time.sleep(pause)
