"""Cycles of a candidate from first principles: the terms of the analytic model, as formulas over slots.

The busiest thread issues its instructions while lines arrive from L2 behind them; what comes from further away, or
falls into few cache sets because rows lie a power of two apart, adds to that. The numbers are of a core with two
256-bit pipes; they order candidates of one task and are no prediction of seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autosched.features.columns import Column
from autosched.features.statement import spill_cycles

Slots = Mapping[str, Column]
Term = tuple[str, Callable[[Slots], Column]]

L1_FILL = 0.012
"""Cycles a byte from L2, mostly hidden behind the arithmetic."""
L2_FILL = 0.015
L3_FILL = 0.06
TLB_ENTRIES = 64.0
CONFLICT_SHARE = 0.5
"""Of the issue cycles, added where every row misses: prefetching hides the rest."""
CODE_BURDEN = 4e-5
"""Share of the issue cycles that an unrolled instruction counts for."""
CODE_CAPACITY = 3000.0
"""Unrolled instructions that the decoded-instruction cache and L1 hold between them."""


def compute(s: Slots) -> Column:
    spills = s["main.entries"] * spill_cycles(s["whole.spilled_vectors"])
    share = s["whole.idle"] / s["target.threads"]
    return s["sum.span_cycles"] + spills * share


def conflicts(s: Slots) -> Column:
    """Extra cycles where the rows of an operand overflow the sets they fall into, or the pages of the first TLB."""
    graph = s["main.entries"].graph
    worst = graph.constant(0.0)
    for operand in ("streamed", "broadcast", "other"):
        sets = graph.minimum(graph.maximum(s[f"main.{operand}.conflict"] - 1.0, 0.0), 1.0)
        pages = s[f"main.{operand}.pages"] / TLB_ENTRIES
        missing = graph.minimum(graph.maximum(pages - 0.5, 0.0), 1.0) * 0.5
        worst = graph.maximum(worst, sets + missing)
    return worst * s["sum.span_cycles"] * CONFLICT_SHARE


def near_memory(s: Slots) -> Column:
    return s["span_bytes.l1"] * L1_FILL


def middle_memory(s: Slots) -> Column:
    return s["span_bytes.l2"] * L2_FILL


def far_memory(s: Slots) -> Column:
    return s["span_bytes.l3"] * L3_FILL


def code(s: Slots) -> Column:
    """Extra cycles where the text outgrows the instruction caches, and a little for every instruction: of two equal
    candidates the shorter one compiles sooner."""
    graph = s["sum.code"].graph
    over = graph.maximum(s["sum.code"] / CODE_CAPACITY - 1.0, 0.0) * 0.1
    burden = s["sum.code"] * CODE_BURDEN
    return graph.minimum(over + burden, 1.0) * s["sum.span_cycles"]


def total(s: Slots) -> Column:
    graph = s["sum.code"].graph
    busy = graph.maximum(compute(s), near_memory(s)) + near_memory(s) * 0.3
    return busy + conflicts(s) + code(s) + middle_memory(s) + far_memory(s)


TERMS: Mapping[str, Term] = {
    "total": ("estimated cycles of the busiest thread", total),
    "compute": ("issue cycles and spills of the busiest thread", compute),
    "conflicts": ("cycles lost to cache sets and pages", conflicts),
    "near_memory": ("cycles of fetches into L1", near_memory),
    "middle_memory": ("cycles of fetches into L2", middle_memory),
    "far_memory": ("cycles of fetches from memory", far_memory),
    "code": ("cycles lost to long code", code),
}
