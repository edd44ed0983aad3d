"""Memory as kernels want it, there before the first call: one block that hands out 64-byte aligned buffers.

Buffers start a few lines further from a page's start than the last, since buffers that all start at one page offset
fight for the same cache sets; a large block asks for huge pages, as the one that kernels are timed in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from autosched.measure.buffers import HUGE_PAGE, LINE, PAGE, STAGGER_LINES
from autosched.measure.linux import advise_huge_pages
from autosched.te.dtype import numpy_dtype

Array = npt.NDArray[Any]


def room(n_bytes: int) -> int:
    """The bytes that a buffer takes in a block: whole pages and the stagger."""
    if n_bytes < PAGE:
        return -(-max(1, n_bytes) // LINE) * LINE
    return -(-n_bytes // PAGE) * PAGE + STAGGER_LINES * LINE


def block(n_bytes: int) -> Array:
    """Bytes, zero and in place, of huge pages if there are enough of them and the host has any."""
    align = HUGE_PAGE if n_bytes >= HUGE_PAGE else LINE
    memory = np.empty(n_bytes + align, np.uint8)
    start = -address(memory) % align
    aligned: Array = memory[start : start + n_bytes]
    if align == HUGE_PAGE:
        advise_huge_pages(address(aligned), n_bytes)
    aligned[:] = 0
    return aligned


class Fresh:
    """Makes 64-byte aligned arrays of one shape and dtype, whose values are whatever was there."""

    def __init__(self, shape: Sequence[int], dtype: str) -> None:
        self._shape, self._dtype = tuple(shape), numpy_dtype(dtype)
        self._n_bytes = math.prod(shape) * self._dtype.itemsize + LINE

    def array(self) -> Array:
        memory = np.empty(self._n_bytes, np.uint8)
        return np.ndarray(self._shape, self._dtype, memory, -address(memory) % LINE)


def address(array: Array) -> int:
    """Where the first element is."""
    place: int = array.__array_interface__["data"][0]
    return place


class Slab:
    """Buffers of the given sizes in bytes, in one block."""

    def __init__(self, sizes: Sequence[int]) -> None:
        offsets, at = [], 0
        for size in sizes:
            offsets.append(at)
            at += room(size)
        self._memory = block(at)
        self._spans = [(o, o + s) for o, s in zip(offsets, sizes, strict=True)]
        self.addresses = [address(self._memory) + o for o in offsets]

    def data(self, number: int) -> Array:
        """A buffer's bytes, which keep the slab alive."""
        first, end = self._spans[number]
        view: Array = self._memory[first:end]
        return view
