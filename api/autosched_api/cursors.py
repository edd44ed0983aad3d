"""Cursors of lists: opaque to clients, the name of the last item to us."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import TypeVar

from autosched.jobs.record import Page
from autosched.wire.key import KEY_PATTERN
from autosched_api.problems import Problem

Item = TypeVar("Item")


def cursor_of(kind: str, last: str) -> str:
    return base64.urlsafe_b64encode(f"{kind}:{last}".encode()).decode().rstrip("=")


def page_of(kind: str, limit: int, cursor: str | None) -> Page:
    """One item more than asked for, which tells whether the list goes on."""
    return Page(limit + 1, None if cursor is None else _after(kind, cursor))


def cut(
    kind: str, items: Sequence[Item], ids: Sequence[str], limit: int
) -> tuple[list[Item], str | None]:
    """The items of one page, and the cursor of the next."""
    more = len(items) > limit
    return list(items[:limit]), cursor_of(kind, ids[limit - 1]) if more else None


def _after(kind: str, cursor: str) -> str:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise Problem("bad-cursor", "the cursor is no text that a list gave") from None
    found, colon, last = text.partition(":")
    if found != kind or not colon or not re.fullmatch(KEY_PATTERN, last):
        raise Problem("bad-cursor", "the cursor is of another list")
    return last
