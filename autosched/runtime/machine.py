"""What kernels run on and from: shared objects mapped into this process, a pool, scratch memory for its threads."""

from __future__ import annotations

import ctypes
import os
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autosched.codegen.kernel import Kernel
from autosched.measure.pool import Pool, Regions, load_pool_library, scratch_table
from autosched.runtime.memory import Slab


@dataclass(frozen=True, eq=False)
class LoadedKernel:
    """A kernel whose shared object is mapped into this process."""

    kernel: Kernel
    module: ctypes.CDLL

    @staticmethod
    def from_file(kernel: Kernel, path: Path) -> LoadedKernel:
        """The loader knows objects by path: of one that was written anew since, it would hand out the old."""
        return LoadedKernel.from_bytes(kernel, path.read_bytes())

    @staticmethod
    def from_bytes(kernel: Kernel, shared_object: bytes) -> LoadedKernel:
        """Maps the object from a file of its own, gone as soon as it is mapped: equal names never meet."""
        handle, name = tempfile.mkstemp(prefix="autosched-kernel-", suffix=".so")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(shared_object)
            return LoadedKernel(kernel, ctypes.CDLL(name))
        finally:
            os.unlink(name)

    @property
    def scratch_bytes(self) -> int:
        """What one thread needs for any region."""
        regions = (*self.kernel.prepare, *self.kernel.regions)
        return max((r.scratch_bytes for r in regions), default=0)


class Machine:
    """A pool of threads with scratch memory enough for any of `kernels`. The threads end with the object; a process
    forked from this one starts its own."""

    def __init__(self, pool_library: Path, threads: int, kernels: Sequence[LoadedKernel]) -> None:
        n_bytes = max((k.scratch_bytes for k in kernels), default=0)
        self._library = load_pool_library(pool_library)
        self._scratch = Slab([n_bytes] * threads)
        self._table = scratch_table(self._scratch.addresses)
        self._start(threads)

    def run(self, regions: Regions) -> None:
        """Every region in order, each on all threads. Callers from several threads take turns."""
        if os.getpid() != self._process:
            self._start(self._pool.threads)
        self._pool.run(regions, self._table)

    def _start(self, threads: int) -> None:
        """A fork takes over no threads: it would wait for those of its parent for ever."""
        self._process = os.getpid()
        self._pool = Pool(self._library, threads)
        ending = weakref.finalize(self, _close, self._pool, self._process)
        ending.atexit = False


def _close(pool: Pool, process: int) -> None:
    """A fork has no threads to end."""
    if os.getpid() == process:
        pool.close()
