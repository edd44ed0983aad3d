"""The comparison with other libraries: what `autosched bench --json` prints."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import BaseModel

from autosched.bench.rounds import Comparison
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


def case_document(name: str, comparison: Comparison, threads: int) -> CaseDocument:
    return CaseDocument(
        name=name,
        ours_us=comparison.ours_us,
        default_us=comparison.default_us,
        peers=dict(comparison.peers),
        ratio_to_best_peer=comparison.ratio,
        ratio_spread=comparison.ratio_spread,
        threads=threads,
        contended_share=comparison.contended_share,
    )


def bench_document(cases: Sequence[CaseDocument]) -> BenchDocument:
    return BenchDocument(cases=list(cases), geomean=geometric_mean(cases))


def geometric_mean(cases: Sequence[CaseDocument]) -> float | None:
    """Of the cases that have a peer; None if none has."""
    ratios = [c.ratio_to_best_peer for c in cases if c.ratio_to_best_peer]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
