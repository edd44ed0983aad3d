"""One kernel bound to its arrays: prepared once, run any number of times.

loaded = LoadedKernel.from_bytes(kernel, shared_object)
bound = BoundKernel(loaded, machine, inputs, outputs)      # packs constants
bound.run()                                                # reads `inputs`, writes `outputs`
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autosched.codegen.kernel import Kernel
from autosched.measure.pool import Plan, Pool, scratch_table
from autosched.runtime.memory import Array, Scratch, allocated


@dataclass(frozen=True, eq=False)
class LoadedKernel:
    """A kernel whose shared object is mapped into this process."""

    kernel: Kernel
    module: ctypes.CDLL

    @staticmethod
    def from_file(kernel: Kernel, path: Path) -> LoadedKernel:
        return LoadedKernel(kernel, ctypes.CDLL(str(path.resolve())))

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


@dataclass(eq=False)
class Machine:
    """A pool and the scratch memory of its threads."""

    pool: Pool
    scratch: Scratch
    table: ctypes.Array[ctypes.c_void_p] = field(init=False)

    def __post_init__(self) -> None:
        self.table = scratch_table(self.scratch.addresses)

    def run(self, plan: Plan) -> None:
        self.pool.run(plan, self.table)


class BoundKernel:
    """A kernel with fixed arrays, which it keeps alive. `inputs` and `outputs` are contiguous, in kernel order;
    `packed`, if given, are the prepared constants of an earlier binding."""

    def __init__(
        self,
        loaded: LoadedKernel,
        machine: Machine,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        packed: Sequence[Array] | None = None,
    ) -> None:
        kernel = loaded.kernel
        self._machine = machine
        self.packed = list(packed) if packed is not None else allocated(kernel.packed)
        self._arrays = [*inputs, *outputs, *self.packed, *(allocated(kernel.workspaces))]
        n_in, n_out, n_packed = len(inputs), len(outputs), len(self.packed)
        places = [a.ctypes.data for a in self._arrays]
        in_places = [*places[:n_in], *places[n_in + n_out : n_in + n_out + n_packed]]
        out_places = [*places[n_in : n_in + n_out], *places[n_in + n_out + n_packed :]]
        self._plan = Plan(loaded.module, kernel.regions, in_places, out_places)
        self._prepare = Plan(loaded.module, kernel.prepare, places[:n_in], in_places[n_in:])
        if packed is None:
            self.prepare()

    def prepare(self) -> None:
        """Packs the constant inputs as they are now."""
        self._machine.run(self._prepare)

    def run(self) -> None:
        self._machine.run(self._plan)
