"""What is due: a handful of things that happen every so many seconds."""

from __future__ import annotations

from collections.abc import Mapping


class Timers:
    """`periods`: seconds by name. All are due at first."""

    def __init__(self, periods: Mapping[str, float], now: float) -> None:
        self._periods = dict(periods)
        self._next = dict.fromkeys(periods, now)

    def due(self, now: float) -> list[str]:
        """The names that are due, each until its next period."""
        names = [name for name, at in self._next.items() if at <= now]
        for name in names:
            self._next[name] = now + self._periods[name]
        return names

    def hurry(self, name: str) -> None:
        """Due at once."""
        self._next[name] = float("-inf")

    def seconds_left(self, now: float) -> float:
        return max(0.0, min(self._next.values()) - now)
