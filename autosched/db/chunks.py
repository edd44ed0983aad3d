"""Lists cut into parts, for databases bound the parameters of a statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")

ITEMS_A_STATEMENT = 500


def chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The items in order, at most `ITEMS_A_STATEMENT` a part; no part for none."""
    for start in range(0, len(items), ITEMS_A_STATEMENT):
        yield items[start : start + ITEMS_A_STATEMENT]
