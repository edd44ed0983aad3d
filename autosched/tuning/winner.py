"""Who wins a side-by-side run."""

from __future__ import annotations

from collections.abc import Mapping

from autosched.records.record import Timing

TIE_SHARE = 0.01
"""Contenders within this share of the fastest are equal; among equals the one named first wins, so that winners change
for a reason."""


def winner_of(timings: Mapping[str, Timing], default: str) -> str:
    """The winner's key. `timings` lists contenders in order of precedence: the standing best, then the default, then
    the others. A winner is never slower than the default in the same run."""
    fastest = min(t.median_seconds for t in timings.values())
    limit = fastest * (1 + TIE_SHARE)
    if default in timings:
        limit = min(limit, timings[default].median_seconds)
    return next(key for key, t in timings.items() if t.median_seconds <= limit)
