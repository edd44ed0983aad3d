"""Compile a kernel with a C compiler of this machine and run it on NumPy arrays, on one thread."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autosched.codegen.kernel import BufferSpec, Kernel, RegionSpec
from autosched.target.target import Target
from autosched.te.dtype import is_float, numpy_dtype

Array = np.ndarray[Any, Any]

AVX2 = Target("cpu", "x86_64", ("avx2", "fma"), "", 1, 32, 16, 32 << 10, 512 << 10, 16 << 20)
FLAGS = (
    "-std=gnu11",
    "-O2",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
)
AVX2_FLAGS = ("-mavx2", "-mfma")


def compiled(kernel: Kernel, *flags: str, compiler: str = "gcc") -> ctypes.CDLL:
    """The loaded shared object; a failed compile shows the compiler's words."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "k.c"), Path(folder, "k.so")
        source.write_text(kernel.source)
        command = [compiler, *FLAGS, *(flags or AVX2_FLAGS), "-w", "-shared", "-fPIC"]
        run = subprocess.run(
            [*command, str(source), "-o", str(library), "-lm"], capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr[:4000] + kernel.source
        return ctypes.CDLL(str(library))


def has_compiler(name: str) -> bool:
    return shutil.which(name) is not None


def poisoned(spec: BufferSpec) -> Array:
    dtype = numpy_dtype(spec.dtype)
    return np.full(spec.elements, np.nan if is_float(spec.dtype) else 77, dtype)


def aligned_bytes(n_bytes: int) -> tuple[Array, int]:
    """Memory and the first 64-byte aligned address in it."""
    memory = np.full(n_bytes + 64, 0xFF, np.uint8)
    return memory, -(-memory.ctypes.data // 64) * 64


class Loaded:
    """A compiled kernel with its buffers: prepared once, run as often as asked."""

    def __init__(self, kernel: Kernel, inputs: Sequence[Array], library: ctypes.CDLL) -> None:
        self.kernel = kernel
        self._library = library
        self._inputs = [np.ascontiguousarray(a).reshape(-1) for a in inputs]
        self._packed = [poisoned(s) for s in kernel.packed]
        self.outputs = [poisoned(s) for s in kernel.outputs]
        self._workspaces = [poisoned(s) for s in kernel.workspaces]
        scratch = max((r.scratch_bytes for r in (*kernel.prepare, *kernel.regions)), default=0)
        self._memory, self._scratch = aligned_bytes(scratch)

    def prepare(self, symbols: Array | None = None) -> None:
        late = [] if symbols is None else [symbols]
        for region in self.kernel.prepare:
            self._call(region, [*self._inputs, *late], self._packed)

    def run(self, symbols: Array | None = None) -> None:
        late = [] if symbols is None else [symbols]
        for region in self.kernel.regions:
            inputs = [*self._inputs, *self._packed, *late]
            self._call(region, inputs, [*self.outputs, *self._workspaces])

    def _call(self, region: RegionSpec, inputs: list[Array], outputs: list[Array]) -> None:
        def pointers(arrays: list[Array]) -> Any:
            return (ctypes.c_void_p * max(len(arrays), 1))(*(a.ctypes.data for a in arrays))

        function = getattr(self._library, region.symbol)
        function(
            pointers(inputs), pointers(outputs), ctypes.c_void_p(self._scratch),
            ctypes.c_int64(0), ctypes.c_int64(region.tasks), ctypes.c_int32(0),
        )  # fmt: skip


def run_kernel(kernel: Kernel, inputs: Sequence[Array], *flags: str) -> list[Array]:
    """Flat outputs of a kernel, poisoned before."""
    loaded = Loaded(kernel, inputs, compiled(kernel, *flags))
    loaded.prepare()
    loaded.run()
    return loaded.outputs
