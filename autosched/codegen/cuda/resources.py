"""What `ptxas -v` says about each function: registers, shared memory, spills."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class Resources:
    """Of one function on one architecture; bytes a thread, shared memory a block (its static part)."""

    symbol: str
    architecture: str
    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_bytes: int


def parse_resources(report: str) -> tuple[Resources, ...]:
    """One record for each entry function, in the order of the report (the output of `nvcc -Xptxas -v`)."""
    found: list[Resources] = []
    symbol = architecture = ""
    stack = spills = 0
    for line in report.splitlines():
        if entry := _ENTRY.search(line):
            symbol, architecture = entry.groups()
        elif frame := _FRAME.search(line):
            stack, spills = int(frame[1]), int(frame[2]) + int(frame[3])
        elif (used := _USED.search(line)) and symbol:
            shared = _SHARED.search(line)
            size = int(shared[1]) if shared else 0
            found.append(Resources(symbol, architecture, int(used[1]), size, stack, spills))
            symbol = ""
    return tuple(found)
