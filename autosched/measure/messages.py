"""What a kernel run is asked and answered, as JSON-ready values: the kernel's calling data and the packed check.

The check's arrays travel once per task, in one sealed memory file that kernels can read and nobody can write.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from autosched.codegen.kernel import BufferSpec, Kernel, RegionSpec
from autosched.measure.protocol import Check, InputSet
from autosched.te.dtype import numpy_dtype

Array = npt.NDArray[Any]
ALIGN = 64


@dataclass(frozen=True)
class KernelSpec:
    """A `Kernel` without its text."""

    inputs: tuple[BufferSpec, ...]
    outputs: tuple[BufferSpec, ...]
    packed: tuple[BufferSpec, ...]
    workspaces: tuple[BufferSpec, ...]
    prepare: tuple[RegionSpec, ...]
    regions: tuple[RegionSpec, ...]

    @property
    def scratch_bytes(self) -> int:
        """Of one thread."""
        return max((r.scratch_bytes for r in (*self.prepare, *self.regions)), default=0)

    def memory_bytes(self, threads: int) -> int:
        """Of all buffers together."""
        buffers = (*self.inputs, *self.outputs, *self.packed, *self.workspaces)
        return sum(buffer_bytes(b) for b in buffers) + threads * self.scratch_bytes


def buffer_bytes(buffer: BufferSpec) -> int:
    return int(buffer.elements * numpy_dtype(buffer.dtype).itemsize)


def pack_kernel(kernel: Kernel) -> dict[str, Any]:
    groups = ("inputs", "outputs", "packed", "workspaces")
    packed: dict[str, Any] = {
        g: [[b.name, b.dtype, b.elements] for b in getattr(kernel, g)] for g in groups
    }
    for group in ("prepare", "regions"):
        packed[group] = [[r.symbol, r.tasks, r.scratch_bytes] for r in getattr(kernel, group)]
    return packed


def unpack_kernel(data: dict[str, Any]) -> KernelSpec:
    inputs, outputs, packed, workspaces = (
        tuple(BufferSpec(*b) for b in data[g])
        for g in ("inputs", "outputs", "packed", "workspaces")
    )
    prepare, regions = (tuple(RegionSpec(*r) for r in data[g]) for g in ("prepare", "regions"))
    return KernelSpec(inputs, outputs, packed, workspaces, prepare, regions)


def pack_check(check: Check, kernel: Kernel) -> tuple[dict[str, Any], int]:
    """Layout of the check and the sealed file with its arrays, which the caller closes.

    Expected arrays take the outputs' dtypes. Raises ValueError if the check does not fit the kernel.
    """
    pool = _ArrayPool()
    sets = []
    for s in check.sets:
        _fits(s, kernel)
        sets.append(
            {
                "inputs": [pool.add(a, b) for a, b in zip(s.inputs, kernel.inputs, strict=True)],
                "expected": [
                    pool.add(a, b) for a, b in zip(s.expected, kernel.outputs, strict=True)
                ],
                "tolerances": [0.0] * len(s.expected)
                if s.exact
                else list(map(float, s.tolerances)),
            }
        )
    return {"sets": sets}, pool.file()


@dataclass(frozen=True, eq=False)
class MappedSet:
    """One input set, read from the sealed file."""

    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]
    tolerances: tuple[float, ...]


def unpack_check(layout: dict[str, Any], file: int) -> list[MappedSet]:
    """The sets, as views of the file's memory."""
    memory = mmap.mmap(file, 0, prot=mmap.PROT_READ)
    return [
        MappedSet(
            tuple(_view(memory, at) for at in s["inputs"]),
            tuple(_view(memory, at) for at in s["expected"]),
            tuple(s["tolerances"]),
        )
        for s in layout["sets"]
    ]


def memory_file(name: str, parts: Sequence[bytes | memoryview]) -> int:
    """A sealed file in memory with the parts one after another."""
    file = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    for part in parts:
        rest = memoryview(part).cast("B")
        while rest:
            rest = rest[os.write(file, rest) :]
    _seal(file)
    return file


SEALING_SECONDS = 5.0


def _seal(file: int) -> None:
    """Makes the file's content final. The kernel answers EBUSY while it holds a page for a moment itself (moving or
    merging memory), so that is asked again; OSError where it goes on."""
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    end = time.monotonic() + SEALING_SECONDS
    while True:
        try:
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
        time.sleep(0.01)


class _ArrayPool:
    """Arrays laid end to end, one copy of each."""

    def __init__(self) -> None:
        self._parts: list[bytes | memoryview] = []
        self._places: dict[tuple[int, str], list[Any]] = {}
        self._keep: list[Array] = []
        self._end = 0

    def add(self, array: Array, buffer: BufferSpec) -> list[Any]:
        key = (id(array), buffer.dtype)
        if key not in self._places:
            flat = np.ascontiguousarray(array.reshape(-1), dtype=numpy_dtype(buffer.dtype))
            self._keep += [array, flat]
            self._places[key] = [self._end, buffer.dtype, flat.size]
            padding = -flat.nbytes % ALIGN
            self._parts += [flat.view(np.uint8).data, bytes(padding)]
            self._end += flat.nbytes + padding
        return self._places[key]

    def file(self) -> int:
        return memory_file("autosched-check", [*self._parts, bytes(ALIGN)])


def _view(memory: mmap.mmap, at: list[Any]) -> Array:
    offset, dtype, size = at
    return np.frombuffer(memory, numpy_dtype(dtype), size, offset)


def _fits(input_set: InputSet, kernel: Kernel) -> None:
    pairs = (
        ("input", input_set.inputs, kernel.inputs),
        ("output", input_set.expected, kernel.outputs),
    )
    for what, arrays, buffers in pairs:
        if len(arrays) != len(buffers):
            raise ValueError(
                f"kernel {kernel.name} has {len(buffers)} {what}s, the check has {len(arrays)}"
            )
        for array, buffer in zip(arrays, buffers, strict=True):
            if array.size != buffer.elements:
                raise ValueError(
                    f"kernel {kernel.name}, {what} {buffer.name}: {buffer.elements} elements, the check has {array.size}"
                )
    for array, buffer in zip(input_set.inputs, kernel.inputs, strict=True):
        if array.dtype != numpy_dtype(buffer.dtype):
            raise ValueError(
                f"kernel {kernel.name}, input {buffer.name}: is {buffer.dtype}, the check has {array.dtype}"
            )
