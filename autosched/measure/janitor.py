"""Tags on everything we start, and the sweep that ends what outlived its owner.

A tag names the process it belongs to: "autosched-PID-STARTTIME-SPACE-RANDOM". Every child carries it in its environment,
every temporary folder in its name. What carries the tag of a process that is no more is a stray. SPACE is where the
process has that number: whoever counts processes otherwise, outside of a container, leaves it to those inside.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

TAG = re.compile(r"autosched-(\d+)-(\d+)-(\d+)-[0-9a-f]{8}")
VARIABLE = "AUTOSCHED_TAG"


def fresh_tag() -> str:
    """A tag that belongs to this process."""
    pid = os.getpid()
    return f"autosched-{pid}-{_start_time(pid)}-{_space(pid)}-{secrets.token_hex(4)}"


def scrubbed_environment(tag: str) -> dict[str, str]:
    """What a child sees of the world: no user's variables, one thread for libraries that would start more."""
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": "/nonexistent",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        VARIABLE: tag,
    }


def tagged_processes(tag: str | None = None) -> Iterator[tuple[int, str]]:
    """(pid, tag) of every process whose environment carries `tag`, or any tag of ours."""
    for entry in _process_folders():
        with contextlib.suppress(OSError):
            for item in (entry / "environ").read_bytes().split(b"\0"):
                name, _, found = item.decode("utf-8", "replace").partition("=")
                if name == VARIABLE and TAG.fullmatch(found) and tag in (None, found):
                    yield int(entry.name), found


def strays() -> Iterator[int]:
    """Tagged processes whose owner is gone."""
    for pid, tag in tagged_processes():
        if _is_stray(tag):
            yield pid


def sweep(folder: Path | None = None) -> int:
    """Ends tagged processes and removes tagged folders whose owner is gone; how many there were."""
    swept = 0
    for pid in strays():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
            swept += 1
    for entry in (folder or Path(tempfile.gettempdir())).glob("autosched-*"):
        match = TAG.match(entry.name)
        if match and _is_left(match[0]):
            shutil.rmtree(entry, ignore_errors=True)
            swept += 1
    return swept


def _is_stray(tag: str) -> bool:
    match = TAG.fullmatch(tag)
    assert match is not None
    is_ours = int(match[3]) == _space(os.getpid())
    return is_ours and _start_time(int(match[1])) != int(match[2])


def _is_left(tag: str) -> bool:
    """Of a folder: also where nothing is left of the container that its owner ran in."""
    space = int(tag.split("-")[3])
    return _is_stray(tag) or all(_space(int(e.name)) != space for e in _process_folders())


def _process_folders() -> Iterator[Path]:
    return Path("/proc").glob("[0-9]*")


def _space(pid: int) -> int:
    """The number of the process's pid namespace; 0 if there is no such process, or it is not ours to see."""
    try:
        return Path(f"/proc/{pid}/ns/pid").stat().st_ino
    except OSError:
        return 0


def _start_time(pid: int) -> int:
    """Clock ticks between the host's start and the process's; 0 if there is no such process. Tells a process from a
    later one with the same number."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0
