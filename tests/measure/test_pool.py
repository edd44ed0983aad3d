"""The thread pool: every task once, regions in order, whatever the numbers of tasks and threads."""

from __future__ import annotations

import ctypes
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from autosched.codegen.kernel import RegionSpec
from autosched.measure.pool import (
    Plan,
    Pool,
    PoolError,
    load_pool_library,
    pool_library,
    scratch_table,
)
from autosched.target.toolchain import Toolchain

SOURCE = """
typedef __INT64_TYPE__ int64_t;
typedef __INT32_TYPE__ int32_t;
#define REGION(name) void name(const void *const *in, void *const *out, void *scratch, int64_t first, int64_t last, \\
                               int32_t thread)
REGION(count) { int32_t *y = out[0]; for (int64_t i = first; i < last; i++) __atomic_fetch_add(&y[i], 1, 5); }
REGION(mark) { int64_t *y = scratch; *y += last - first; }
REGION(shift) { const int32_t *x = in[0]; int32_t *y = out[1]; for (int64_t i = first; i < last; i++) y[i] = x[i + 1]; }
REGION(slow) { int32_t *y = out[0]; if (!first) for (volatile int i = 0; i < 20000000; i++); for (int64_t i = first; i < last; i++) y[i] = thread; }
"""

TASKS = (0, 1, 2, 3, 7, 64, 1000, 4097)


@pytest.fixture(scope="module")
def module(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("regions")
    (folder / "r.c").write_text(SOURCE)
    command = [*toolchain.command, *toolchain.flags, "r.c", "-shared", "-o", "r.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "r.so"))


def address(array: np.ndarray) -> int:  # type: ignore[type-arg]
    return array.ctypes.data


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_task_runs_exactly_once(threads: int, module: ctypes.CDLL, library: Path) -> None:
    pool = Pool(load_pool_library(library), threads)
    spaces = np.zeros((threads, 8), np.int64)
    scratch = scratch_table([address(row) for row in spaces])
    for tasks in TASKS:
        y = np.zeros(max(1, tasks), np.int32)
        plan = Plan(
            module, [RegionSpec("count", tasks, 0), RegionSpec("mark", tasks, 64)], [], [address(y)]
        )
        for _ in range(20):
            pool.run(plan, scratch)
        assert y[:tasks].tolist() == [20] * tasks
    assert spaces[:, 0].sum() == 20 * sum(TASKS)
    pool.close()


def test_a_region_sees_all_that_the_one_before_wrote(module: ctypes.CDLL, library: Path) -> None:
    """Neighbours are read, so a region that starts early would see zeros."""
    n = 5000
    pool = Pool(load_pool_library(library), 3)
    x, y = np.zeros(n + 1, np.int32), np.zeros(n, np.int32)
    regions = [RegionSpec("count", n + 1, 0), RegionSpec("shift", n, 0)]
    plan = Plan(module, regions, [address(x)], [address(x), address(y)])
    for turn in range(1, 200):
        pool.run(plan, scratch_table([0, 0, 0]))
        assert (y == turn).all()
    pool.close()


def test_workers_that_went_to_sleep_wake_up(module: ctypes.CDLL, library: Path) -> None:
    pool = Pool(load_pool_library(library), 4, spin_seconds=0.0)
    y = np.zeros(100, np.int32)
    plan = Plan(module, [RegionSpec("count", 100, 0)], [], [address(y)])
    for _ in range(300):
        pool.run(plan, scratch_table([0] * 4))
    assert (y == 300).all()
    pool.close()


def test_workers_that_slept_through_a_long_region_are_back_for_the_next(
    module: ctypes.CDLL, library: Path
) -> None:
    """A region of one task is the caller's alone, and takes longer than others spin."""
    pool = Pool(load_pool_library(library), 3)
    y = np.zeros(100, np.int32)
    count, slow = RegionSpec("count", 100, 0), RegionSpec("slow", 1, 0)
    plan = Plan(module, [count, slow, count], [], [address(y)])
    for _ in range(5):
        pool.run(plan, scratch_table([0] * 3))
    assert (y[1:] == 10).all()
    assert y[0] == 1  # `slow` writes 0 there
    pool.close()


def test_others_take_over_the_share_of_a_slow_thread(module: ctypes.CDLL, library: Path) -> None:
    """The first task is long: what its thread would have done next is done by the other."""
    pool = Pool(load_pool_library(library), 2)
    y = np.full(64, -1, np.int32)
    pool.run(Plan(module, [RegionSpec("slow", 64, 0)], [], [address(y)]), scratch_table([0, 0]))
    assert set(y.tolist()) <= {0, 1}
    assert (y[:32] != y[0]).any()
    pool.close()


def test_callers_from_several_threads_take_turns(module: ctypes.CDLL, library: Path) -> None:
    pool = Pool(load_pool_library(library), 2)
    y = np.zeros(50, np.int32)
    plan = Plan(module, [RegionSpec("count", 50, 0)], [], [address(y)])
    callers = [
        threading.Thread(target=lambda: [pool.run(plan, scratch_table([0, 0])) for _ in range(100)])
        for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert (y == 400).all()
    pool.close()


def test_workers_stay_on_their_cpus(library: Path) -> None:
    pool = Pool(load_pool_library(library), 3, cpus=(0, 0, 0))
    assert pool.worker_cpus() == [0, 0]
    pool.close()
    free = Pool(load_pool_library(library), 1)
    assert free.worker_cpus() == []
    free.close()


def test_no_threads_is_an_error(library: Path) -> None:
    with pytest.raises(PoolError):
        Pool(load_pool_library(library), 0)


def test_the_library_is_compiled_once_and_known_by_its_content(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    first = pool_library(toolchain, tmp_path)
    stamp = first.stat().st_mtime_ns
    assert pool_library(toolchain, tmp_path) == first
    assert first.stat().st_mtime_ns == stamp
    assert [p.name for p in tmp_path.iterdir()] == [first.name]


def test_a_compiler_that_fails_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match="could not compile"):
        pool_library(Toolchain("gcc", ("false",), "0", ()), tmp_path)
