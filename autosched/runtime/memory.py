"""Arrays as kernels want them: contiguous, and aligned where the interface says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from autosched.codegen.kernel import BufferSpec
from autosched.te.dtype import numpy_dtype

Array = npt.NDArray[Any]
ALIGNMENT = 64


def aligned_array(elements: int, dtype: str) -> Array:
    """A flat array of zeros whose first element is 64-byte aligned; at least one element long, so that it has an
    address."""
    item = numpy_dtype(dtype)
    memory = np.zeros(max(1, elements) * item.itemsize + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    aligned: Array = memory[start : start + max(1, elements) * item.itemsize].view(item)
    return aligned


def aligned_copy(array: Array) -> Array:
    """A flat, aligned copy."""
    copy = aligned_array(array.size, array.dtype.name)
    copy[: array.size] = array.reshape(-1)
    return copy


def allocated(specs: tuple[BufferSpec, ...]) -> list[Array]:
    """One aligned array a buffer."""
    return [aligned_array(s.elements, s.dtype) for s in specs]


class Scratch:
    """Each thread's scratch memory, shared by kernels that run one after another."""

    def __init__(self, threads: int, n_bytes: int) -> None:
        self._memory = [aligned_array(n_bytes, "uint8") for _ in range(threads)]
        self.addresses = [m.ctypes.data for m in self._memory]
