"""One tuner a device and host: an advisory file lock, freed by the system when its holder ends, however it ends.

The file lies where every user of the host finds it and says who holds the lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from autosched.errors import AutoschedError

POLL_SECONDS = 0.1


class DeviceBusy(AutoschedError):
    """Another process holds the device; the message names it."""


@contextlib.contextmanager
def device_lock(
    device: str,
    *,
    folder: Path | None = None,
    wait_seconds: float | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Holds `device` ("cpu", "cuda0") for the `with` block.

    Waits for at most `wait_seconds` (None: for ever) and raises DeviceBusy then; `on_wait` is told once who holds it.
    """
    file = os.open(_path(device, folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _acquire(file, device, wait_seconds, on_wait)
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(file)


def holder_of(device: str, *, folder: Path | None = None) -> int | None:
    """The process that holds `device` now; None if none does."""
    file = os.open(_path(device, folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if _try(file):
            return None
        pid = os.pread(file, 32, 0).decode("ascii", "replace").strip()
        return int(pid) if pid.isdigit() else None
    finally:
        os.close(file)


def _acquire(
    file: int, device: str, wait_seconds: float | None, on_wait: Callable[[str], None] | None
) -> None:
    deadline = None if wait_seconds is None else time.monotonic() + wait_seconds
    while not _try(file):
        words = f"device {device} is held by {_holder(file)}"
        if on_wait is not None:
            on_wait(words)
            on_wait = None
        if deadline is not None and time.monotonic() >= deadline:
            raise DeviceBusy(words)
        time.sleep(POLL_SECONDS)


def _try(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(file: int) -> str:
    pid = os.pread(file, 32, 0).decode("ascii", "replace").strip()
    return f"process {pid}" if pid.isdigit() else "another process"


def _path(device: str, folder: Path | None) -> Path:
    if not re.fullmatch(r"[A-Za-z0-9._-]+", device):
        raise ValueError(f"device {device!r}: letters, digits, '.', '_' and '-' only")
    shared = folder or Path(tempfile.gettempdir()) / "autosched-locks"
    if not shared.is_dir():
        with contextlib.suppress(FileExistsError):
            shared.mkdir(parents=True)
            shared.chmod(0o1777)
    path = shared / f"{device}.lock"
    if not path.exists():
        with contextlib.suppress(OSError):
            path.touch()
            path.chmod(0o666)
    return path
