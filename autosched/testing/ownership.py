"""Who made what lies about: a tag of the process, so that the next one can remove what a killed one left.

The tag is "PID.TICKS": a number is used again, but not with the same start.
"""

from __future__ import annotations

import os
from pathlib import Path


def own_tag() -> str:
    """Of this process."""
    return f"{os.getpid()}.{_started(os.getpid())}"


def is_alive(tag: str) -> bool:
    """Whether the process of a tag runs. True for what is no tag: others made that."""
    pid, _, started = tag.partition(".")
    if not (pid.isdecimal() and started):
        return True
    return _started(int(pid)) == started


def _started(pid: int) -> str | None:
    """When a process began, in the kernel's ticks; None: there is none of this number."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[19]
