"""One loaded kernel with its memory: run under guard to be checked, or in an arena to be timed.

This runs in the disposable child; whatever it finds, it says in words and numbers only.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from autosched.codegen.kernel import BufferSpec
from autosched.measure.buffers import LINE, Arena, Bytes, GuardedBuffer, Placement, poison
from autosched.measure.compare import Mismatch, compare, same_bytes
from autosched.measure.messages import KernelSpec, MappedSet, buffer_bytes
from autosched.measure.pool import Plan, Pool, scratch_table
from autosched.measure.timing import Sample
from autosched.te.dtype import numpy_dtype

Layout = list[tuple[str, int, int]]
"""(name, address, bytes) of every buffer."""

Announce = Callable[[Layout], None]
"""Told the layout before a guarded run, so that a fault's address can be named."""


@dataclass(frozen=True)
class Verdict:
    """`fault`: why the outcome is not ok ("" if it is), and whether memory was damaged rather than the result wrong."""

    max_error: float = 0.0
    fault: str = ""
    is_damage: bool = False


class LoadedKernel:
    """A kernel's shared object in this process."""

    def __init__(self, file: int, spec: KernelSpec, pool: Pool) -> None:
        self.spec = spec
        self.pool = pool
        self._module = ctypes.CDLL(f"/proc/self/fd/{file}")

    def checked_run(self, data: MappedSet, placement: Placement, announce: Announce) -> Verdict:
        """One run with every buffer between guard pages; inputs and packed constants cannot be written."""
        memory = _GuardedMemory(self.spec, self.pool.threads, placement)
        announce(memory.layout())
        try:
            memory.fill(data)
            scratch = scratch_table([b.address for b in memory.scratch])
            memory.seal("inputs")
            self.pool.run(
                self._plan("prepare", memory.addresses("inputs"), memory.addresses("packed")),
                scratch,
            )
            memory.seal("packed")
            ins = memory.addresses("inputs") + memory.addresses("packed")
            outs = memory.addresses("outputs") + memory.addresses("workspaces")
            self.pool.run(self._plan("regions", ins, outs), scratch)
            damage = memory.damage()
            if damage:
                return Verdict(fault=f"wrote outside of {damage}", is_damage=True)
            return verify(self.spec, [b.data for b in memory.groups["outputs"]], data)
        finally:
            memory.free()

    def place(self, data: MappedSet) -> TimedKernel:
        """Buffers for timing, inputs filled in, constants prepared."""
        return TimedKernel(self, data)

    def _plan(self, which: str, ins: Sequence[int], outs: Sequence[int]) -> Plan:
        return Plan(self._module, getattr(self.spec, which), ins, outs)


class TimedKernel:
    """A kernel with its own arena."""

    def __init__(self, kernel: LoadedKernel, data: MappedSet) -> None:
        self._kernel, self._data = kernel, data
        spec, threads = kernel.spec, kernel.pool.threads
        groups = [spec.inputs, spec.outputs, spec.packed, spec.workspaces]
        sizes = [buffer_bytes(b) for group in groups for b in group] + [
            spec.scratch_bytes
        ] * threads
        self._arena = Arena(sizes)
        addresses, self._outputs = list(self._arena.addresses), list[Bytes]()
        ins, outs, packed, spaces = (_take(addresses, len(g)) for g in groups)
        for number, source in enumerate(data.inputs):
            self._arena.data(number)[:] = source.view("uint8")
        self._outputs = [self._arena.data(len(ins) + i) for i in range(len(outs))]
        self._scratch = scratch_table(addresses)
        self.poison()
        kernel.pool.run(kernel._plan("prepare", ins, packed), self._scratch)
        self._plan = kernel._plan("regions", ins + packed, outs + spaces)

    def poison(self) -> None:
        for output, spec in zip(self._outputs, self._kernel.spec.outputs, strict=True):
            poison(output, numpy_dtype(spec.dtype))

    def run(self) -> None:
        self._kernel.pool.run(self._plan, self._scratch)

    def sample(self, calls: int, probes: Probes) -> Sample:
        return probes.sample(self._kernel.pool, self._plan, self._scratch, calls)

    def verify(self) -> Verdict:
        """Whether the outputs are right and the inputs as they were."""
        for number, source in enumerate(self._data.inputs):
            if not same_bytes(self._arena.data(number), source):
                return Verdict(
                    fault=f"wrote to {_name('input', number, self._kernel.spec.inputs)}",
                    is_damage=True,
                )
        return verify(self._kernel.spec, self._outputs, self._data)


class Probes:
    """Open files that tell what disturbed a sample, for all threads there are now."""

    def __init__(self, library: ctypes.CDLL, cpus: Sequence[int]) -> None:
        self._library = library
        threads = sorted(os.listdir("/proc/self/task"))
        self._files = (ctypes.c_int32 * len(threads))(
            *(_open(f"/proc/self/task/{t}/schedstat") for t in threads)
        )
        self._cpus = (ctypes.c_int32 * len(cpus))(*cpus)
        files, watched = (ctypes.cast(a, ctypes.c_void_p) for a in (self._files, self._cpus))
        self._probes = _Probes(len(threads), files, _open("/proc/stat"), len(cpus), watched)

    def sample(
        self, pool: Pool, plan: Plan, scratch: ctypes.Array[ctypes.c_void_p], calls: int
    ) -> Sample:
        raw = _Sample()
        self._library.watch_sample(
            pool.handle,
            plan.regions,
            ctypes.c_int32(plan.count),
            scratch,
            ctypes.c_int64(calls),
            ctypes.byref(self._probes),
            ctypes.byref(raw),
        )
        return Sample(
            max(raw.nanoseconds, 1) * 1e-9, calls, raw.switches, raw.waited * 1e-9, raw.stolen_ticks
        )


class _Sample(ctypes.Structure):
    _fields_ = (
        ("nanoseconds", ctypes.c_int64),
        ("switches", ctypes.c_int64),
        ("waited", ctypes.c_int64),
        ("stolen_ticks", ctypes.c_int64),
    )


class _Probes(ctypes.Structure):
    _fields_ = (
        ("n_schedstat", ctypes.c_int32),
        ("schedstat", ctypes.c_void_p),
        ("stat", ctypes.c_int32),
        ("n_cpus", ctypes.c_int32),
        ("cpus", ctypes.c_void_p),
    )


class _GuardedMemory:
    """All buffers of one checking run."""

    def __init__(self, spec: KernelSpec, threads: int, placement: Placement) -> None:
        self._spec = spec
        straight = Placement(placement.side)
        self.groups = {
            "inputs": [_external(b, placement) for b in spec.inputs],
            "outputs": [_external(b, placement) for b in spec.outputs],
            "packed": [GuardedBuffer(buffer_bytes(b), LINE, straight) for b in spec.packed],
            "workspaces": [GuardedBuffer(buffer_bytes(b), LINE, straight) for b in spec.workspaces],
        }
        self.scratch = [GuardedBuffer(spec.scratch_bytes, LINE, straight) for _ in range(threads)]

    def fill(self, data: MappedSet) -> None:
        for buffer, source in zip(self.groups["inputs"], data.inputs, strict=True):
            buffer.data[:] = source.view("uint8")
        for group in ("outputs", "packed", "workspaces"):
            for buffer, spec in zip(self.groups[group], getattr(self._spec, group), strict=True):
                poison(buffer.data, numpy_dtype(spec.dtype))
        for buffer in self.scratch:
            buffer.data[:] = 0xFF

    def seal(self, group: str) -> None:
        for buffer in self.groups[group]:
            buffer.seal()

    def addresses(self, group: str) -> list[int]:
        return [b.address for b in self.groups[group]]

    def layout(self) -> Layout:
        return [(name, b.address, b.n_bytes) for name, b in self._named()]

    def damage(self) -> str:
        """Name of the first buffer whose surroundings were written, or ""."""
        return next((name for name, b in self._named() if not b.is_intact()), "")

    def free(self) -> None:
        for _, buffer in self._named():
            buffer.free()

    def _named(self) -> Iterator[tuple[str, GuardedBuffer]]:
        words = {
            "inputs": "input",
            "outputs": "output",
            "packed": "packed buffer",
            "workspaces": "workspace",
        }
        for group, buffers in self.groups.items():
            for number, buffer in enumerate(buffers):
                yield _name(words[group], number, getattr(self._spec, group)), buffer
        for thread, buffer in enumerate(self.scratch):
            yield f"scratch of thread {thread}", buffer


def verify(spec: KernelSpec, outputs: Sequence[Bytes], data: MappedSet) -> Verdict:
    """Compares every output with what is expected."""
    largest = 0.0
    for number, (raw, buffer) in enumerate(zip(outputs, spec.outputs, strict=True)):
        got = raw.view(numpy_dtype(buffer.dtype))
        error, mismatch = compare(got, data.expected[number], data.tolerances[number])
        largest = max(largest, error)
        if mismatch is not None:
            name = _name("output", number, spec.outputs)
            return Verdict(largest, _describe(name, mismatch, got.size, data.tolerances[number]))
    return Verdict(largest)


def _describe(name: str, m: Mismatch, size: int, tolerance: float) -> str:
    rule = "must be equal" if tolerance == 0 else f"tolerance {tolerance:.3g}"
    return f"{name}: {m.n_wrong} of {size} elements are wrong; element {m.at} is {m.got!r}, expected {m.expected!r} ({rule})"


def _name(word: str, number: int, buffers: Sequence[BufferSpec]) -> str:
    return f"{word} {number} ({buffers[number].name})"


def _external(buffer: BufferSpec, placement: Placement) -> GuardedBuffer:
    """At element alignment only; a shift is one element, so that the address is aligned to nothing more."""
    size = numpy_dtype(buffer.dtype).itemsize
    return GuardedBuffer(
        buffer_bytes(buffer), size, Placement(placement.side, size if placement.shift_bytes else 0)
    )


def _take(addresses: list[int], n: int) -> list[int]:
    taken = addresses[:n]
    del addresses[:n]
    return taken


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:
        return -1
