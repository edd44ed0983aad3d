"""Arrays that were used last, by key: what is kept is bounded by what it takes, not by how many there are alone."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

from autosched.measure.protocol import Check, InputSet

Kept = TypeVar("Kept")


def bytes_of(arrays: Check | InputSet) -> int:
    """Of all inputs and expected outputs."""
    sets = arrays.sets if isinstance(arrays, Check) else (arrays,)
    return sum(a.nbytes for s in sets for a in (*s.inputs, *s.expected))


class Recent(Generic[Kept]):
    """At most so many things, and together at most so many bytes; the one that came last stays whatever it takes. May be
    used by any thread."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Kept, int]] = OrderedDict()

    def keep(self, key: str, value: Kept, n_bytes: int) -> None:
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = value, n_bytes
            while len(self._kept) > 1 and self._is_too_much():
                self._kept.popitem(last=False)

    def get(self, key: str) -> Kept | None:
        """None: it is not kept, or not any more."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def _is_too_much(self) -> bool:
        n_bytes = sum(n for _, n in self._kept.values())
        return len(self._kept) > self._most or n_bytes > self._most_bytes
