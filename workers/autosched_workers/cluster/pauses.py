"""How long to wait before something that ended is started again: longer each time, and from the start after a long life."""

from __future__ import annotations

FIRST_SECONDS = 0.5
MOST_SECONDS = 10.0
STEADY_SECONDS = 30.0


class Pauses:
    def __init__(self) -> None:
        self._last = FIRST_SECONDS

    def after(self, lived_seconds: float) -> float:
        """Seconds to wait, of what lived so long."""
        is_steady = lived_seconds >= STEADY_SECONDS
        self._last = FIRST_SECONDS if is_steady else min(2 * self._last, MOST_SECONDS)
        return self._last
