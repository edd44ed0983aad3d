"""A piece of a list: items and, unless it is the last, the cursor of the next piece."""

from __future__ import annotations

from typing import Generic, TypeVar

from pydantic import BaseModel

Item = TypeVar("Item")

DEFAULT_LIMIT = 50
MAX_LIMIT = 500


class PageDocument(BaseModel, Generic[Item]):
    """`next` is opaque; null at the end of the list."""

    items: list[Item]
    next: str | None = None
