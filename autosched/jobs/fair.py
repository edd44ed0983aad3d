"""Whose turn it is: fair shares of devices between owners, as pure functions.

Among those of the highest priority that anybody asks for, the owner who has used devices least comes first; among equals
the one who has waited longest. Use is counted over a window, so that an owner who was away for a day cannot claim the
day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

WINDOW_SECONDS = 600.0


class Asking(Protocol):
    @property
    def owner(self) -> str: ...

    @property
    def priority(self) -> int: ...


Asked = TypeVar("Asked", bound=Asking)


def first(asking: Sequence[Asked], use: Mapping[str, float]) -> Asked | None:
    """Who of these comes first; they stand in the order in which they came. `use`: device seconds by owner."""
    ranked = min(
        enumerate(asking),
        key=lambda item: (-item[1].priority, use.get(item[1].owner, 0.0), item[0]),
        default=None,
    )
    return None if ranked is None else ranked[1]
