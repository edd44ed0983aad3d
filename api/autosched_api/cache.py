"""A bounded cache whose entries are never older than they may be."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class FreshCache(Generic[Key, Value]):
    """At most `entries` values, each for `seconds` after what it was made of was read; zero seconds keep none. For one
    thread: the event loop's."""

    def __init__(
        self, seconds: float, entries: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._entries = entries
        self._clock = clock
        self._values: OrderedDict[Key, tuple[float, Value]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def now(self) -> float:
        """To be asked before reading what will be put."""
        return self._clock()

    def get(self, key: Key) -> Value | None:
        found = self._values.get(key)
        if found is None:
            return None
        if self._clock() - found[0] > self._seconds:
            del self._values[key]
            return None
        return found[1]

    async def get_or_read(self, key: Key, read: Callable[[], Awaitable[Value]]) -> Value:
        """The value at hand, else what `read` finds, which is kept unless it is None."""
        kept = self.get(key)
        if kept is not None:
            return kept
        now = self.now()
        value = await read()
        if value is not None:
            self.put(key, value, now)
        return value

    def put(self, key: Key, value: Value, read_at: float) -> None:
        """`read_at`: what `now` said before the value was read."""
        if self._seconds <= 0:
            return
        self._values.pop(key, None)
        while len(self._values) >= self._entries:
            self._values.popitem(last=False)
        self._values[key] = (read_at, value)

    def peek(self, key: Key) -> Value | None:
        """The value, however old."""
        found = self._values.get(key)
        return None if found is None else found[1]

    def renew(self, key: Key, read_at: float) -> None:
        """The value has been found unchanged by a reading that began then."""
        found = self._values.get(key)
        if found is not None:
            self._values[key] = (read_at, found[1])

    def drop(self, key: Key) -> None:
        self._values.pop(key, None)
