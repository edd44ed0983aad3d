"""Hand-over of the thread pool: seconds per region beyond the same calls on one thread. Prints, asserts no time."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from pathlib import Path

import pytest

from autosched.codegen.kernel import RegionSpec
from autosched.measure.pool import Plan, Pool, load_pool_library, pool_library, scratch_table
from autosched.target.detect import detect_target
from autosched.target.toolchain import find_toolchain

SOURCE = "void nothing(void *a, void *b, void *c, long d, long e, int f) {}"
REGIONS = 1000
ROUNDS = 200


@pytest.mark.bench
def test_handover(tmp_path: Path) -> None:
    toolchain = find_toolchain(detect_target())
    (tmp_path / "n.c").write_text(SOURCE)
    subprocess.run(
        [*toolchain.command, *toolchain.flags, "n.c", "-shared", "-o", "n.so"],
        cwd=tmp_path,
        check=True,
    )
    module = ctypes.CDLL(str(tmp_path / "n.so"))
    library = load_pool_library(pool_library(toolchain, tmp_path))
    cpus = sorted(os.sched_getaffinity(0))
    for threads in range(1, len(cpus) + 1):
        os.sched_setaffinity(0, {cpus[0]})
        pool = Pool(library, threads, cpus)
        plan = Plan(module, [RegionSpec("nothing", threads, 0)] * REGIONS, [], [])
        seconds = min(_seconds(pool, plan, threads) for _ in range(ROUNDS))
        pool.close()
        os.sched_setaffinity(0, cpus)
        print(f"{threads} threads: {seconds / REGIONS * 1e6:.3f} us a region")


def _seconds(pool: Pool, plan: Plan, threads: int) -> float:
    scratch = scratch_table([0] * threads)
    start = time.perf_counter()
    pool.run(plan, scratch)
    return time.perf_counter() - start
