"""The thresholds of fusion, all in one record."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FusionPolicy:
    """What may stand in one kernel.

    `max_operators` of one kernel: 1 leaves every operator alone. Its text, and the registers of its epilogue, grow
    with it; chains found in models are shorter.
    `max_operands`: arrays that one kernel reads. Each needs a pointer in a register and a stream of the prefetcher, of
    which machines have about a dozen.
    `max_recomputation`: how often an arithmetic producer may be computed again, in evaluations an element, when it is
    fused in front of a reduction. At 1 nothing is computed twice. Pure movement (transpose, slice, pad) is an index
    and is fused however often it is read.
    `min_saved_bytes`: an edge whose fusion saves fewer bytes of memory traffic stays unfused; 0 fuses all that may be.
    """

    max_operators: int = 16
    max_operands: int = 12
    max_recomputation: float = 1.0
    min_saved_bytes: int = 0


DEFAULT_POLICY = FusionPolicy()
UNFUSED = FusionPolicy(max_operators=1)
