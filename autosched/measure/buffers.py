"""Memory for kernels: guarded pages for checking, and one staggered arena for timing.

Guarded: a buffer stands between two pages that nobody may touch, flush with the one or the other, so that the first
step past its end (or before its start) faults. What is left of its own pages is filled with a pattern and looked at
afterwards. Arena: buffers 64-byte aligned, each a few lines further from a page's start than the last, since buffers
that all start at one page offset fight for the same cache sets.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from autosched.measure import linux

Side = Literal["start", "end"]
Bytes = npt.NDArray[np.uint8]

PAGE = resource.getpagesize()
HUGE_PAGE = 2 << 20
LINE = 64
STAGGER_LINES = 9
PATTERN = 0xFF
"""Of slack and poison: every float type reads it as NaN."""
INTEGER_POISON = 0xA5


@dataclass(frozen=True)
class Placement:
    """Where a guarded buffer stands: flush with the guard on `side`, moved inwards by `shift_bytes`."""

    side: Side
    shift_bytes: int = 0


class GuardedBuffer:
    """`n_bytes` between guard pages. `align` is kept at the end side by leaving slack behind the buffer."""

    def __init__(self, n_bytes: int, align: int, placement: Placement) -> None:
        self.n_bytes = n_bytes
        room = max(1, n_bytes + placement.shift_bytes + align)
        self._inner = -(-room // PAGE) * PAGE
        self._map()
        end = self._start + self._inner
        linux.protect(self._base, self._start - self._base, 0)
        linux.protect(end, self._base + self._mapped - end, 0)
        if placement.side == "start":
            self.address = self._start + placement.shift_bytes
        else:
            self.address = (
                (self._start + self._inner - n_bytes - placement.shift_bytes) // align * align
            )
        self._slack(before=True)[:] = PATTERN
        self._slack(before=False)[:] = PATTERN

    @property
    def data(self) -> Bytes:
        return view(self.address, self.n_bytes)

    def seal(self) -> None:
        """From now on a write faults."""
        linux.protect(self._start, self._inner, 1)

    def is_intact(self) -> bool:
        """Whether nothing was written around the buffer on its own pages."""
        return all(bool((self._slack(before=b) == PATTERN).all()) for b in (True, False))

    def free(self) -> None:
        linux.unmap_pages(self._base, self._mapped)

    def _map(self) -> None:
        """Pages of our own with at least one more before and behind. Making small pages costs more than a kernel's run, so a
        large buffer starts where a huge page can."""
        is_large = self._inner >= HUGE_PAGE
        self._mapped = self._inner + 2 * PAGE + (HUGE_PAGE if is_large else 0)
        self._base = linux.map_pages(self._mapped, at_once=not is_large)
        self._start = self._base + PAGE
        if is_large:
            self._start = -(-self._start // HUGE_PAGE) * HUGE_PAGE
            linux.advise_huge_pages(self._start, self._inner)

    def _slack(self, *, before: bool) -> Bytes:
        if before:
            return view(self._start, self.address - self._start)
        end = self.address + self.n_bytes
        return view(end, self._start + self._inner - end)


class Arena:
    """One mapping that hands out buffers; huge pages where the host gives them. Never shrinks; freed as a whole."""

    def __init__(self, sizes: list[int]) -> None:
        """`sizes` in bytes; `addresses` come in the same order."""
        offsets, at = [], 0
        for number, size in enumerate(sizes):
            at = -(-at // PAGE) * PAGE + number * STAGGER_LINES * LINE % PAGE
            offsets.append(at)
            at += size
        self._size = (-(-max(1, at) // HUGE_PAGE) + 1) * HUGE_PAGE
        self._base = linux.map_pages(self._size, at_once=False)
        first = -(-self._base // HUGE_PAGE) * HUGE_PAGE
        linux.advise_huge_pages(first, self._size - HUGE_PAGE)
        self.addresses = [first + offset for offset in offsets]
        self._sizes = sizes

    def data(self, number: int) -> Bytes:
        return view(self.addresses[number], self._sizes[number])

    def free(self) -> None:
        linux.unmap_pages(self._base, self._size)


def view(address: int, n_bytes: int) -> Bytes:
    """Memory as bytes; valid while it is mapped."""
    return np.asarray(_Memory(address, n_bytes))


class _Memory:
    """An address and a size in NumPy's own terms; building a ctypes array type per size is slower by far."""

    def __init__(self, address: int, n_bytes: int) -> None:
        shape = (n_bytes,)
        self.__array_interface__ = {
            "data": (address, False),
            "shape": shape,
            "typestr": "|u1",
            "version": 3,
        }


def poison(target: Bytes, dtype: np.dtype[Any]) -> None:
    """Fills with NaN of any float type, or with an unlikely integer."""
    is_float = dtype.kind not in "iub"
    target[:] = PATTERN if is_float else INTEGER_POISON
