"""Rotating rounds and what they say: every contender has a turn in every round, in an order that rotates.

The ratio is the median over rounds of (best peer's time / ours), so that what slows a whole round slows both; it is
above 1 where we are faster.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autosched.bench.contender import Contender, Turn

ROUNDS = 15
TURN_SECONDS = 0.02
CONTENDED_LIMIT = 0.1

Round = Mapping[str, Turn]
"""Contender -> its turn."""


@dataclass(frozen=True)
class Comparison:
    """Medians over rounds; `peers` are None where a library has no such operator."""

    ours_us: float
    default_us: float | None
    peers: Mapping[str, float | None]
    best_peer: str | None
    ratio: float | None
    ratio_spread: float | None
    contended_share: float


def play(contenders: Mapping[str, Contender], rounds: int = ROUNDS) -> list[Round]:
    """Full rounds only: one in which a contender failed is left out."""
    names = list(contenders)
    played: list[Round] = []
    for number in range(rounds):
        shift = number % len(names)
        turns: dict[str, Turn] = {}
        for name in (*names[shift:], *names[:shift]):
            turn = contenders[name].turn(TURN_SECONDS)
            if turn is not None:
                turns[name] = turn
        if len(turns) == len(names):
            played.append(turns)
    return played


def compare(rounds: Sequence[Round], peers: Sequence[str]) -> Comparison:
    """What the rounds say of "ours", "default" and the peers that took part."""
    medians = {n: statistics.median(r[n].us for r in rounds) for n in rounds[0]}
    present = [p for p in peers if p in medians]
    best = min(present, key=lambda p: medians[p]) if present else None
    ratios = sorted(r[best].us / r["ours"].us for r in rounds) if best else []
    contended = max(statistics.mean(r[n].contended for r in rounds) for n in medians)
    return Comparison(
        ours_us=medians["ours"],
        default_us=medians.get("default"),
        peers={p: medians.get(p) for p in peers},
        best_peer=best,
        ratio=statistics.median(ratios) if ratios else None,
        ratio_spread=_interquartile(ratios),
        contended_share=contended,
    )


def _interquartile(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    low, _, high = statistics.quantiles(values, n=4)
    return high - low
