"""The comparison with other libraries: what `autosched bench --json` prints."""

from __future__ import annotations

from pydantic import BaseModel

from autosched.wire.number import Number


class CaseDocument(BaseModel):
    """One case. `ratio_to_best_peer` is the median over rounds of the fastest peer's time over ours: above 1 we are
    faster. `ratio_spread` is the interquartile range of those ratios."""

    name: str
    ours_us: Number
    default_us: Number
    peers: dict[str, Number]
    ratio_to_best_peer: Number
    ratio_spread: Number
    threads: int
    contended_share: float


class BenchDocument(BaseModel):
    """All cases and the geometric mean of their ratios."""

    cases: list[CaseDocument]
    geomean: Number
