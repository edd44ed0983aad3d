"""Kernels as a function of a workload's key and arrays, in this process: what verification runs a model with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autosched.entry.build import compiled
from autosched.entry.machine import Setup
from autosched.entry.winners import Chosen
from autosched.measure.pool import Pool, load_pool_library, pool_library
from autosched.runtime.bound import BoundKernel, LoadedKernel, Machine
from autosched.runtime.memory import Array, Scratch, allocated


class Kernels:
    """`run(workload_key, arrays) -> arrays` with the chosen kernels. Every call packs its constants anew."""

    def __init__(self, chosen: Sequence[Chosen], setup: Setup) -> None:
        artefacts = compiled(chosen, setup)
        self._loaded = {
            c.subject.workload.key: LoadedKernel.from_bytes(a.kernel, a.shared_object)
            for c, a in zip(chosen, artefacts, strict=True)
        }
        threads = setup.target.threads
        scratch = max((k.scratch_bytes for k in self._loaded.values()), default=0)
        pool = Pool(load_pool_library(pool_library(setup.toolchain)), threads)
        self._machine = Machine(pool, Scratch(threads, scratch))

    def run(self, workload_key: str, arrays: Sequence[Array]) -> list[Array]:
        """Flat outputs in the workload's order."""
        loaded = self._loaded[workload_key]
        inputs = [np.ascontiguousarray(a).reshape(-1) for a in arrays]
        outputs = allocated(loaded.kernel.outputs)
        BoundKernel(loaded, self._machine, inputs, outputs).run()
        return [a[: s.elements] for a, s in zip(outputs, loaded.kernel.outputs, strict=True)]
