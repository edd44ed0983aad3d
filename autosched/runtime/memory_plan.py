"""Where buffers stand in one block, so that those never needed at the same time share memory.

Greedy by size (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020): the largest
buffer first, each at the lowest offset at which it meets none that it lives beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `n_bytes` that holds a value from step `first` to step `last`, both included."""

    n_bytes: int
    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class MemoryPlan:
    """Offsets in bytes, in the order of the buffers, and the bytes of the block."""

    offsets: tuple[int, ...]
    n_bytes: int


def plan_memory(buffers: Sequence[Lifetime]) -> MemoryPlan:
    """Offsets are sums of the buffers' sizes, so sizes that are multiples of an alignment keep it."""
    offsets = [0] * len(buffers)
    placed: list[int] = []
    for i in sorted(range(len(buffers)), key=lambda i: -buffers[i].n_bytes):
        beside = sorted(
            (offsets[j], buffers[j].n_bytes) for j in placed if buffers[i].meets(buffers[j])
        )
        offsets[i] = _lowest_gap(buffers[i].n_bytes, beside)
        placed.append(i)
    end = max((o + b.n_bytes for o, b in zip(offsets, buffers, strict=True)), default=0)
    return MemoryPlan(tuple(offsets), end)


def _lowest_gap(n_bytes: int, taken: Sequence[tuple[int, int]]) -> int:
    """`taken`: (offset, bytes) by offset; they may overlap one another."""
    at = 0
    for offset, size in taken:
        if offset - at >= n_bytes:
            return at
        at = max(at, offset + size)
    return at
