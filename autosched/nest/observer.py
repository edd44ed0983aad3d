"""What can be seen while a nest runs: executions, addresses, writers, and threads that race for shared memory.

`Observer` itself watches shared memory only and is always there; `Trace` counts and collects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from autosched.nest.nodes import Buffer, Node, Region
from autosched.nest.program import Program

Thread = tuple[Any, ...]
WARP_SIZE = 32


class AccessError(Exception):
    """A nest reads or writes where or when it must not."""


class Observer:
    """Finds races: an element of shared memory written by one thread and touched by another with no barrier between.

    A cooperative copy counts as a thread of its own, for nobody knows which thread writes what.
    """

    def start(self, program: Program, external: Sequence[Buffer]) -> dict[str, Any]:
        """The functions that the program calls."""
        self.program = program
        self.thread: Thread = ()
        self.warp_barriers = 0
        self.written: dict[tuple[int, int], tuple[Thread, int]] = {}
        self.read: dict[tuple[int, int], dict[Thread, int]] = {}
        names = ("at", "barrier", "renew", "r", "w", "enter", "leave")
        return {name: getattr(self, name) for name in names}

    def start_task(self, region: Region, task: int) -> None:
        self.barrier("block")

    def at(self, *thread: Any) -> None:
        self.thread = thread

    def barrier(self, scope: str) -> None:
        if scope == "block":
            self.read.clear()
            self.written.clear()
        self.warp_barriers += 1

    def renew(self, buffer: int) -> None:
        self.written = {k: v for k, v in self.written.items() if k[0] != buffer}
        self.read = {k: v for k, v in self.read.items() if k[0] != buffer}

    def r(self, buffer: int, address: int) -> int:
        if self.program.buffers[buffer].scope == "shared":
            key = (buffer, address)
            self._compare(key, self.written.get(key), "read")
            self.read.setdefault(key, {})[self.thread] = self.warp_barriers
        return address

    def w(self, buffer: int, address: int) -> int:
        if self.program.buffers[buffer].scope == "shared":
            key = (buffer, address)
            self._compare(key, self.written.get(key), "write")
            for thread, barriers in self.read.get(key, {}).items():
                self._compare(key, (thread, barriers), "write")
            self.written[key] = (self.thread, self.warp_barriers)
        return address

    def _compare(self, key: tuple[int, int], other: tuple[Thread, int] | None, what: str) -> None:
        if other is None or other[0] == self.thread:
            return
        thread, barriers = other
        if barriers < self.warp_barriers and _one_warp(thread, self.thread):
            return
        raise AccessError(
            f"{self.program.buffers[key[0]].name}: thread {self.thread} would {what} element {key[1]}, "
            f"touched by thread {thread} with no barrier between"
        )

    def enter(self, number: int) -> None:
        """A loop starts."""

    def leave(self, number: int) -> None:
        """A loop has ended."""


def _one_warp(a: Thread, b: Thread) -> bool:
    """Whether two threads, innermost index last, surely share a warp."""
    if not a or not b or "copy" in (a[0], b[0]):
        return False
    return a[:-1] == b[:-1] and a[-1] // WARP_SIZE == b[-1] // WARP_SIZE


class Trace(Observer):
    """Counts and addresses of a run.

    `executed[node]`: instances of a statement (points of a copy), iterations of a loop, passes of a block or guard.
    `footprint[loop, buffer]`: most elements of the buffer touched by one run of the loop.
    `overlaps`: (region name, buffer name, address) of external elements written by more than one task of a region.
    """

    def __init__(self) -> None:
        self.executed: Counter[Node] = Counter()
        self.footprint: dict[tuple[Node, Buffer], int] = {}
        self.overlaps: list[tuple[str, str, int]] = []

    def start(self, program: Program, external: Sequence[Buffer]) -> dict[str, Any]:
        found = super().start(program, external)
        self._counts = _NodeCounts(program.nodes, self.executed)
        self._external = len(external)
        self._touched: list[tuple[int, int]] = []
        self._open: list[int] = []
        self._task = ("", -1)
        self._writers: dict[tuple[int, int], tuple[str, int]] = {}
        return {**found, "counts": self._counts}

    def start_task(self, region: Region, task: int) -> None:
        super().start_task(region, task)
        self._task = (region.name, task)
        self._touched.clear()

    def r(self, buffer: int, address: int) -> int:
        self._touched.append((buffer, address))
        return super().r(buffer, address)

    def w(self, buffer: int, address: int) -> int:
        key = (buffer, address)
        self._touched.append(key)
        if self.program.buffers[buffer].scope == "global":
            before = self._writers.get(key)
            if before is not None and before[0] == self._task[0] and before != self._task:
                self.overlaps.append((before[0], self.program.buffers[buffer].name, address))
            self._writers[key] = self._task
        return super().w(buffer, address)

    def enter(self, number: int) -> None:
        self._open.append(len(self._touched))

    def leave(self, number: int) -> None:
        start = self._open.pop()
        sizes = Counter(buffer for buffer, _ in set(self._touched[start:]))
        loop = self.program.nodes[number]
        for buffer, size in sizes.items():
            key = (loop, self.program.buffers[buffer])
            self.footprint[key] = max(size, self.footprint.get(key, 0))


class _NodeCounts:
    """`counts[number] += 1` of the program text, kept by node."""

    def __init__(self, nodes: Sequence[Node], counter: Counter[Node]) -> None:
        self._nodes, self._counter = nodes, counter

    def __getitem__(self, number: int) -> int:
        return self._counter[self._nodes[number]]

    def __setitem__(self, number: int, count: int) -> None:
        self._counter[self._nodes[number]] = count
