"""Runs a CUDA kernel on the CPU: its text compiled by the C++ compiler under `cuda_emulation.h`."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autosched.codegen.cuda import CudaKernel, Launch
from autosched.codegen.cuda.scalars import PRELUDE
from autosched.codegen.kernel import BufferSpec
from autosched.te.dtype import is_float, numpy_dtype
from autosched.te.integer import Int, evaluate

Array = np.ndarray[Any, Any]
HEADER = Path(__file__).with_name("cuda_emulation.h")
FLAGS = ["-std=c++20", "-O1", "-fPIC", "-shared", "-pthread", "-w", "-fwrapv"]


def emulate(
    kernel: CudaKernel,
    inputs: Sequence[Array],
    library: ctypes.CDLL,
    *,
    symbols: Mapping[Int, int] | None = None,
) -> tuple[Array, ...]:
    """Flat outputs of a kernel in a library from `built`; `symbols` has values for its open symbols."""
    spec = kernel.kernel
    read = [np.ascontiguousarray(a).ravel() for a in inputs]
    packed = [_poisoned(b) for b in spec.packed]
    outputs = [_poisoned(b) for b in spec.outputs]
    workspaces = [_poisoned(b) for b in spec.workspaces]
    values = dict(symbols or {})
    numbers = [next(v for s, v in values.items() if s.name == name) for name in spec.symbols]
    for launch in kernel.launches[: len(spec.prepare)]:
        _start(library, launch, [*read, *packed], numbers, values)
    for launch in kernel.launches[len(spec.prepare) :]:
        _start(library, launch, [*read, *packed, *outputs, *workspaces], numbers, values)
    return tuple(outputs)


def built(kernels: Sequence[CudaKernel], directory: Path, *, compiler: str = "g++") -> ctypes.CDLL:
    """One library of all kernels (of different names), with a `launch_SYMBOL(arguments, grid, block)` for each
    function."""
    (directory / "cuda_pipeline.h").write_text("")
    launchers = "".join(
        f'extern "C" void launch_{x.symbol}(void** a, const int* g, const int* b) '
        f"{{ emulation::launch({x.symbol}, a, g, b); }}\n"
        for kernel in kernels
        for x in kernel.launches
    )
    text = "".join(k.kernel.source.replace(PRELUDE, "") for k in kernels)
    text = text.replace("extern __shared__", "extern")
    source = directory / "kernels.cpp"
    source.write_text(f'#include "{HEADER}"\n{PRELUDE}\n{text}\n{launchers}')
    library = source.with_suffix(".so")
    command = [compiler, *FLAGS, f"-I{directory}", str(source), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library))


def _start(
    library: ctypes.CDLL,
    launch: Launch,
    arrays: list[Array],
    numbers: list[int],
    values: Mapping[Int, int],
) -> None:
    pointers = [a.ctypes.data for a in arrays] + numbers
    arguments = (ctypes.c_void_p * len(pointers))(*pointers)
    grid = (ctypes.c_int * 3)(*(evaluate(g, values) for g in launch.grid))
    block = (ctypes.c_int * 3)(*launch.block)
    getattr(library, f"launch_{launch.symbol}")(arguments, grid, block)


def _poisoned(spec: BufferSpec) -> Array:
    value = np.nan if is_float(spec.dtype) else 91
    return np.full(spec.elements, value, dtype=numpy_dtype(spec.dtype))
