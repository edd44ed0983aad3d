"""What this machine reaches: peak operations and bandwidths, measured like any kernel, by builder and runner.

Two hand-written kernels: fused multiply-adds on as many independent accumulators as the registers hold (the latency of
one is hidden behind the others), and sums over a buffer half the size of a memory level. Both have outputs that are
known exactly, so the check covers them too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from autosched.codegen.kernel import BufferSpec, Kernel, RegionSpec
from autosched.errors import AutoschedError
from autosched.measure.protocol import Array, Builder, Check, InputSet, Runner, TimingPolicy
from autosched.records.record import Timing
from autosched.target.calibration import (
    Calibration,
    MemoryLevel,
    ThreadCalibration,
    calibration_text,
    merge,
    parse_calibration,
)
from autosched.target.target import Target

KERNEL_SECONDS = 0.001
ASSUMED_OPERATIONS_PER_SECOND = 64e9
ASSUMED_BYTES_PER_SECOND = 32e9
SUM_ACCUMULATORS = 8
MEMORY_BYTES = (64 << 20, 256 << 20)
RESERVED_REGISTERS = 4
TRIES = 3
CONTENDED_SHARE = 0.3

_HEAD = """
typedef __INT64_TYPE__ int64_t;
typedef __INT32_TYPE__ int32_t;
typedef float vec __attribute__((vector_size({vector_bytes}), aligned(4), may_alias));
void k_r0(const void *const *in, void *const *out, void *scratch, int64_t first, int64_t last, int32_t thread)
{{
    const float *x = in[0];
    float *y = out[0];
    for (int64_t task = first; task < last; task++) {{
"""


class CalibrationFailed(AutoschedError):
    """The machine could not be measured; the message says what the kernel's outcome was."""


def calibrate(
    builder: Builder, runner: Runner, target: Target, threads: Sequence[int] | None = None
) -> Calibration:
    """Measures with each count in `threads` (default: one, and the target's). Raises CalibrationFailed."""
    counts = sorted(set(threads or (1, target.threads)))
    return Calibration(tuple(_calibrate_threads(builder, runner, target, n) for n in counts))


def cached_calibration(
    folder: Path, target: Target, measure: Callable[[], Calibration]
) -> Calibration:
    """The calibration kept for this host and target in `folder`, measuring it if there is none."""
    path = calibration_path(folder, target)
    try:
        return parse_calibration(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return keep_calibration(folder, target, measure())


def keep_calibration(folder: Path, target: Target, fresh: Calibration) -> Calibration:
    """Merges `fresh` into what is kept, the better value of each kind, and returns that."""
    path = calibration_path(folder, target)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        fresh = merge(parse_calibration(path.read_text(encoding="utf-8")), fresh)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
        file.write(calibration_text(fresh))
    os.replace(file.name, path)
    return fresh


def calibration_path(folder: Path, target: Target) -> Path:
    """One file a host and target: a home directory may be shared by several hosts."""
    host = hashlib.sha256(f"{os.uname().nodename}\0{_machine_id()}".encode()).hexdigest()[:16]
    return folder / f"calibration-{host}-{target.key}.json"


def peak_kernel(target: Target, tasks: int) -> tuple[Kernel, Check]:
    """Each task runs independent multiply-add chains that stay at 1; each starts from an element of its own, or a
    compiler would see that they are one."""
    lanes, chains = target.lanes(4), target.vector_registers - RESERVED_REGISTERS
    steps = round(ASSUMED_OPERATIONS_PER_SECOND * KERNEL_SECONDS / (2 * lanes * chains))
    names = [f"c{i}" for i in range(chains)]
    starts = ", ".join(f"{n} = x[{2 + i}] - (vec){{}}" for i, n in enumerate(names))
    body = [f"        vec a = x[0] - (vec){{}}, b = x[1] - (vec){{}}, {starts};"]
    body += [f"        for (int64_t i = 0; i < {steps}; i++) {{"]
    body += [f"            {n} = {n} * a + b;" for n in names]
    body += [
        "        }",
        f"        *(vec *)(y + task * {lanes}) = ({' + '.join(names)}) / {chains}.0f;",
    ]
    source = _source(target, body)
    kernel = _kernel(
        "peak", source, (2 + chains, tasks * lanes), tasks, tasks * steps * chains * lanes * 2
    )
    inputs = np.concatenate([np.full(2, 0.5, np.float32), np.ones(chains, np.float32)])
    return kernel, _exact_check(inputs, np.ones(tasks * lanes, np.float32))


def bandwidth_kernel(target: Target, tasks: int, n_bytes: int) -> tuple[Kernel, Check, int]:
    """Each task sums its slice of a buffer of ones, repeatedly; also the bytes that one call reads."""
    lanes = target.lanes(4)
    block = lanes * SUM_ACCUMULATORS
    elements = max(1, n_bytes // 4 // tasks // block) * block
    repeats = max(1, round(ASSUMED_BYTES_PER_SECOND * KERNEL_SECONDS / (elements * 4)))
    names = [f"c{i}" for i in range(SUM_ACCUMULATORS)]
    body = [
        f"        const float *p = x + task * {elements};",
        f"        vec {', '.join(f'{n} = {{}}' for n in names)};",
    ]
    body += [
        f"        for (int64_t r = 0; r < {repeats}; r++) {{",
        '            __asm__ volatile("" ::: "memory");',
    ]
    body += [f"            for (int64_t i = 0; i < {elements}; i += {block}) {{"]
    body += [
        f"                {n} += *(const vec *)(p + i + {k * lanes});" for k, n in enumerate(names)
    ]
    body += [
        "            }",
        "        }",
        f"        *(vec *)(y + task * {lanes}) = {' + '.join(names)};",
    ]
    kernel = _kernel("read", _source(target, body), (tasks * elements, tasks * lanes), tasks, 0)
    total = np.full(tasks * lanes, elements // lanes * repeats, np.float32)
    return (
        kernel,
        _exact_check(np.ones(tasks * elements, np.float32), total),
        tasks * elements * 4 * repeats,
    )


def _calibrate_threads(
    builder: Builder, runner: Runner, target: Target, threads: int
) -> ThreadCalibration:
    kernel, check = peak_kernel(target, threads)
    seconds = _best_seconds(builder, runner, kernel, check, threads)
    levels = []
    for name, holds, used in memory_levels(target, threads):
        reader, read_check, read_bytes = bandwidth_kernel(target, threads, used)
        read_seconds = _best_seconds(builder, runner, reader, read_check, threads)
        levels.append(MemoryLevel(name, holds, read_bytes / read_seconds))
    return ThreadCalibration(threads, kernel.operations / seconds, tuple(levels))


def memory_levels(target: Target, threads: int) -> list[tuple[str, int, int]]:
    """(name, bytes it holds for all threads, bytes to measure it with), from the nearest; a level that holds no more
    than the one before it is left out."""
    sizes = [
        ("L1", threads * target.l1_bytes),
        ("L2", threads * target.l2_bytes),
        ("L3", target.l3_bytes),
    ]
    found: list[tuple[str, int, int]] = []
    for name, holds in sizes:
        before = found[-1][1] if found else 0
        if holds > before:
            found.append(
                (
                    name,
                    holds,
                    (holds + before) // 2 if before * 2 > holds else max(holds // 2, before),
                )
            )
    least, most = MEMORY_BYTES
    return [*found, ("DRAM", 1 << 62, min(most, max(least, 2 * found[-1][1])))]


def _best_seconds(
    builder: Builder, runner: Runner, kernel: Kernel, check: Check, threads: int
) -> float:
    """The fastest of a few tries; one is enough on a quiet machine."""
    build = builder.build([kernel])[0]
    if build.artefact is None:
        raise CalibrationFailed(f"the {kernel.name} kernel was not built: {build.error}")
    best: list[float] = []
    for _ in range(TRIES):
        found = runner.measure(build.artefact, check, TimingPolicy(threads, deadline_seconds=60.0))
        if found.timing is None:
            raise CalibrationFailed(f"the {kernel.name} kernel: {found.outcome}: {found.error}")
        best.append(found.timing.median_seconds)
        if _is_quiet(found.timing):
            break
    return min(best)


def _is_quiet(timing: Timing) -> bool:
    return timing.contended_share < CONTENDED_SHARE


def _source(target: Target, body: Sequence[str]) -> str:
    return "\n".join(
        [_HEAD.format(vector_bytes=target.vector_bytes).strip(), *body, "    }", "}", ""]
    )


def _kernel(
    name: str, source: str, elements: tuple[int, int], tasks: int, operations: int
) -> Kernel:
    ins, outs = (BufferSpec(n, "float32", e) for n, e in zip("xy", elements, strict=True))
    regions = (RegionSpec("k_r0", tasks, 0),)
    return Kernel(name, "c", source, (ins,), (outs,), (), (), (), regions, operations)


def _exact_check(inputs: Array, expected: Array) -> Check:
    return Check((InputSet((inputs,), (expected,), (0.0,), exact=True),))


def _machine_id() -> str:
    try:
        return Path("/etc/machine-id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
