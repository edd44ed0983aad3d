"""Is the output right? NaN where NaN is expected, infinities of the same sign, the rest exact or within tolerance."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


@dataclass(frozen=True)
class Mismatch:
    """`at`: flat index of the worst element; `n_wrong`: how many break the rule."""

    at: int
    got: float
    expected: float
    n_wrong: int


def compare(got: Array, expected: Array, tolerance: float) -> tuple[float, Mismatch | None]:
    """Flat arrays of one dtype. The largest error (infinite where NaN or infinity disagree), and what is wrong.

    `tolerance` is absolute; 0 asks for equal values (a negative zero equals zero).
    """
    if same_bytes(got, expected) or np.array_equal(got, expected):
        return 0.0, None
    largest = _largest_error(got, expected)
    if largest <= tolerance:
        return largest, None
    a, e = _wide(got), _wide(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(a - e)
    odd = ~np.isfinite(error)
    if odd.any():
        same = (a == e) | (np.isnan(a) & np.isnan(e))
        error = np.where(odd, np.where(same, 0.0, np.inf), error)
    wrong = error > tolerance
    largest = float(error.max())
    if not wrong.any():
        return largest, None
    at = int(error.argmax())
    return largest, Mismatch(at, float(a[at]), float(e[at]), int(np.count_nonzero(wrong)))


CHUNK_ELEMENTS = 1 << 14
"""What stays in a core's first caches, temporaries included."""


def _largest_error(got: Array, expected: Array) -> float:
    """The largest difference of floats, in one pass that stays in the caches; NaN where this way cannot tell: a NaN, an
    infinity, another type."""
    if got.dtype not in (np.float32, np.float64):
        return math.nan
    largest = 0.0
    room = np.empty(min(got.size, CHUNK_ELEMENTS), got.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, got.size, CHUNK_ELEMENTS):
            a, e = (x[start : start + CHUNK_ELEMENTS] for x in (got, expected))
            error = np.subtract(a, e, out=room[: a.size])
            worst = float(np.abs(error, out=error).max())
            if not worst < math.inf:
                return math.nan
            largest = max(largest, worst)
    return largest


def same_bytes(first: Array, second: Array) -> bool:
    """Whether two contiguous arrays hold the same bytes; much faster than comparing elements."""
    if first.nbytes != second.nbytes:
        return False
    return bool(_memcmp(first.ctypes.data, second.ctypes.data, first.nbytes) == 0)


def _wide(values: Array) -> Array:
    """A type in which a difference of two values is at most one rounding off."""
    if values.dtype == np.float64:
        return values
    return values.astype(np.float64)
