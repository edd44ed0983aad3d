"""Is the output right? NaN where NaN is expected, infinities of the same sign, the rest exact or within tolerance."""

from __future__ import annotations

import ctypes
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
