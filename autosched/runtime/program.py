"""A plan with its kernels as one run: every call's regions in one list, every address bound once.

Tensors between calls (in their homes), workspaces and packed constants stand in one block, by their lifetimes. What the caller hands in
and gets back (`outside`) has no memory here: `point` says where it is before a run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from autosched.codegen.kernel import BufferSpec
from autosched.graph.partition.plan import Call, Plan
from autosched.measure.pool import JoinedPlans
from autosched.measure.pool import Plan as BoundRegions
from autosched.runtime.homes import find_homes, tensor_bytes
from autosched.runtime.machine import LoadedKernel
from autosched.runtime.memory import Array, address, block, room
from autosched.runtime.memory_plan import Lifetime, plan_memory
from autosched.te.dtype import numpy_dtype

Entry = tuple[ctypes.Array[ctypes.c_void_p], int, int]
"""A place in a table of addresses, and how far its address is from the tensor's."""

Key = tuple[str, str | int, int]
"""A buffer of the block: what it is, its tensor or its call's number, its number there."""


@dataclass(frozen=True, eq=False)
class Step:
    """A call with its kernel."""

    call: Call
    loaded: LoadedKernel


class Program:
    """`prepare` packs the constants, `regions` run the graph; `packed` are views of the packed constants, `outside`
    the tensors whose address is the caller's to give."""

    def __init__(self, plan: Plan, kernels: Mapping[str, LoadedKernel]) -> None:
        self._plan = plan
        calls = [c for c in plan.calls if not _is_empty(plan, c)]
        made = {n for call in calls for n in call.outputs}
        self.outside = {*plan.inputs, *(plan.root(n) for n in plan.outputs if plan.root(n) in made)}
        self._homes = find_homes(plan, calls, self.outside)
        self._steps = [Step(c, kernels[c.workload_key]) for c in self._homes.calls]
        self._entries: dict[str, list[Entry]] = {name: [] for name in self.outside}
        self._constants = {n: np.ascontiguousarray(a) for n, a in plan.constants.items()}
        self._memory = _Memory(self._lifetimes())
        prepare, regions = [], []
        for number, step in enumerate(self._steps):
            first, second = self._bound(number, step)
            prepare.append(first)
            regions.append(second)
        self.prepare, self.regions = JoinedPlans(prepare), JoinedPlans(regions)

    def point(self, tensor: str, place: int) -> None:
        """The address of an outside tensor, until it is pointed elsewhere."""
        for table, index, offset in self._entries[tensor]:
            table[index] = place + offset

    @property
    def packed(self) -> dict[int, list[Array]]:
        """The packed constants of each call that is run, by its number in the plan, as bytes that share memory with
        the program."""
        numbers = {call.outputs: i for i, call in enumerate(self._plan.calls)}
        return {
            numbers[step.call.outputs]: [
                self._memory.data(("packed", number, i))
                for i in range(len(step.loaded.kernel.packed))
            ]
            for number, step in enumerate(self._steps)
        }

    def _lifetimes(self) -> Iterator[tuple[Key, Lifetime]]:
        """Every buffer of the block by name: tensors from their call to their last reader, workspaces during their
        call, packed constants always."""
        end = len(self._steps)
        for name, (first, last) in self._spans().items():
            yield _tensor(name), Lifetime(tensor_bytes(self._plan.types[name]), first, last)
        for number, step in enumerate(self._steps):
            for i, spec in enumerate(step.loaded.kernel.workspaces):
                yield ("workspace", number, i), Lifetime(_n_bytes(spec), number, number)
            for i, spec in enumerate(step.loaded.kernel.packed):
                yield ("packed", number, i), Lifetime(_n_bytes(spec), 0, end)

    def _spans(self) -> dict[str, tuple[int, int]]:
        """First and last step that touch a tensor's memory or a part of it."""
        spans: dict[str, tuple[int, int]] = {}
        for number, step in enumerate(self._steps):
            for name in (*step.call.outputs, *map(self._plan.root, step.call.inputs)):
                tensor = self._homes.of(name).tensor
                if tensor not in self.outside and tensor not in self._constants:
                    spans[tensor] = (spans.get(tensor, (number,))[0], number)
        return spans

    def _bound(self, number: int, step: Step) -> tuple[BoundRegions, BoundRegions]:
        kernel, memory = step.loaded.kernel, self._memory
        roots = [self._plan.root(n) for n in step.call.inputs]
        inputs = [self._place(n) for n in roots]
        outputs = [self._place(n) for n in step.call.outputs]
        packed = [memory.place(("packed", number, i)) for i in range(len(kernel.packed))]
        spaces = [memory.place(("workspace", number, i)) for i in range(len(kernel.workspaces))]
        module = step.loaded.module
        prepare = BoundRegions(module, kernel.prepare, inputs, packed)
        regions = BoundRegions(module, kernel.regions, [*inputs, *packed], [*outputs, *spaces])
        for names, table in (
            (roots, prepare.inputs),
            (roots, regions.inputs),
            (step.call.outputs, regions.outputs),
        ):
            for i, name in enumerate(names):
                home = self._homes.of(name)
                if home.tensor in self.outside:
                    self._entries[home.tensor].append((table, i, home.offset_bytes))
        return prepare, regions

    def _place(self, tensor: str) -> int:
        """Address of a tensor's memory; 0 for one that is not known yet."""
        home = self._homes.of(tensor)
        if home.tensor in self.outside:
            return 0
        if tensor in self._constants:
            return address(self._constants[tensor])
        return self._memory.place(_tensor(home.tensor)) + home.offset_bytes


class _Memory:
    """Buffers in one block."""

    def __init__(self, lifetimes: Iterator[tuple[Key, Lifetime]]) -> None:
        buffers = dict(lifetimes)
        rooms = [Lifetime(room(b.n_bytes), b.first, b.last) for b in buffers.values()]
        plan = plan_memory(rooms)
        self._block = block(plan.n_bytes)
        self._base = address(self._block)
        self._spans = {
            key: (offset, offset + b.n_bytes)
            for (key, b), offset in zip(buffers.items(), plan.offsets, strict=True)
        }

    def place(self, key: Key) -> int:
        return self._base + self._spans[key][0]

    def data(self, key: Key) -> Array:
        first, end = self._spans[key]
        view: Array = self._block[first:end]
        return view


def _tensor(name: str) -> Key:
    return ("tensor", name, 0)


def _n_bytes(spec: BufferSpec) -> int:
    n_bytes: int = spec.elements * numpy_dtype(spec.dtype).itemsize
    return n_bytes


def _is_empty(plan: Plan, call: Call) -> bool:
    """Nothing to compute: such workloads have no kernel."""
    return all(plan.types[name].elements == 0 for name in call.outputs)
