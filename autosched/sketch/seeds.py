"""Constructive seeds: hardware-aligned values for every decision of a sketch, best first.

Decision names say what they are: `.r` lanes, `.m` units inside the reduction tile, `.o` units outside it, `.t` the
reduction tile, `.u` unroll, `.c` the chunk of a split reduction. A seed starts from a register block, gives the panel
about half of L1 and the tile about half of L2, and is repaired until every constraint holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autosched.sketch.sketch import Decision, Values
from autosched.target.target import Target
from autosched.te.integer import Int, evaluate, symbols

PREFERRED: tuple[Mapping[str, tuple[int, ...]], ...] = (
    {"r": (16, 6, 1), "m": (16,), "o": (1,), "t": (256,), "u": (4,), "c": (8,)},
    {"r": (16, 6, 1), "m": (4,), "o": (4,), "t": (512,), "u": (2,), "c": (32,)},
    {"r": (24, 4, 1), "m": (8,), "o": (1,), "t": (256,), "u": (1,), "c": (2,)},
    {"r": (8, 12, 1), "m": (8,), "o": (2,), "t": (256,), "u": (1,), "c": (1,)},
    {"r": (8, 4, 2), "m": (2,), "o": (1,), "t": (256,), "u": (1,), "c": (1,)},
    {"r": (8, 1, 1), "m": (1,), "o": (1,), "t": (64,), "u": (1,), "c": (1,)},
)


def seeds(
    decisions: tuple[Decision, ...], constraints: tuple[Int, ...], target: Target
) -> tuple[Values, ...]:
    """Distinct legal values, at least one where any legal candidate is found."""
    found: dict[tuple[int, ...], Values] = {}
    for preferred in PREFERRED:
        values = _repaired(_draft(decisions, preferred), decisions, constraints)
        if values is not None:
            found.setdefault(tuple(values[d.name] for d in decisions), values)
    return tuple(found.values())


def _draft(
    decisions: tuple[Decision, ...], preferred: Mapping[str, tuple[int, ...]]
) -> dict[str, int]:
    """The nearest allowed value to what is preferred for each kind; lanes go to the last axes first."""
    values: dict[str, int] = {}
    lanes = iter(preferred["r"])
    for decision in reversed(decisions):
        kind = decision.name.rsplit(".", 1)[1]
        wanted = next(lanes, 1) if kind == "r" else preferred[kind][0]
        values[decision.name] = min(decision.domain, key=lambda v: (abs(v - wanted), v))
    return values


def _repaired(
    values: dict[str, int], decisions: tuple[Decision, ...], constraints: tuple[Int, ...]
) -> Values | None:
    """Lower the largest decisions of broken constraints step by step until all hold."""
    by_symbol = {d.symbol: d for d in decisions}
    for _ in range(64):
        environment = {d.symbol: values[d.name] for d in decisions}
        broken = [c for c in constraints if not evaluate(c, environment)]
        if not broken:
            return dict(values)
        smaller = list(_smaller(broken[0], by_symbol, values))
        if not smaller:
            return None
        name, value = max(smaller, key=lambda pair: values[pair[0]])
        values[name] = value
    return None


def _smaller(
    constraint: Int, by_symbol: Mapping[Int, Decision], values: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    """The next smaller value of each decision in a constraint."""
    for found in sorted(symbols(constraint), key=lambda s: s.name):
        decision = by_symbol[found]
        below = [v for v in decision.domain if v < values[decision.name]]
        if below:
            yield decision.name, below[-1]
