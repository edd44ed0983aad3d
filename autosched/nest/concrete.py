"""Integer expressions at reading time: known symbols put in, open variables held to their ranges, the rest folded."""

from __future__ import annotations

from collections.abc import Mapping

from autosched.te.integer import Int, Interval, as_int, substitute
from autosched.te.interval import fold, interval


class Concrete:
    """What a text reader knows about symbols: the value of some, the range of each open loop variable."""

    def __init__(self, env: Mapping[Int, int]) -> None:
        self.ranges: dict[Int, Interval] = {}
        self._values = {s: as_int(v) for s, v in env.items()}
        self._substituted: dict[Int, Int] = {}
        self._folded: dict[Int, Int] = {}

    def known(self, expression: Int) -> Int:
        """The expression with what is known put in and folded."""
        if expression.is_constant:
            return expression
        found = self.bound(expression)
        return found if found.is_constant else fold(found, self.ranges, self._folded)

    def bound(self, expression: Int) -> Int:
        """The expression with the symbols that have a value replaced by it."""
        return substitute(expression, self._values, self._substituted)

    def reach(self, expression: Int) -> Interval:
        """Smallest and largest value it can have here."""
        return interval(self.known(expression), self.ranges)

    def static(self, expression: Int, what: str) -> int:
        """Its value; a ValueError says `what` is not static."""
        found = self.known(expression)
        if not found.is_constant:
            raise ValueError(f"{what} {expression!r} is not static: {found!r}")
        return found.value

    def bind(self, var: Int, extent: Int) -> int:
        """Opens a variable over [0, extent) and returns its largest possible extent. One extent: it is 0 from here."""
        most = max(self.reach(extent)[1], 1)
        if self.ranges.get(var, (0, most - 1)) != (0, most - 1):
            self._folded.clear()
        self.ranges[var] = (0, most - 1)
        return most
