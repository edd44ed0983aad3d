"""One user of a device at a time and host: an advisory file lock, freed by the system when its holder ends, however it
ends.

    with device_lock("cpu") as hold:
        ...
        hold.give_way()       # to who waits, if anybody does

Who waits stands in a second lock's queue, and who lets go of the device queues again behind them: none of several that
want it all the time is left out. The files lie where every user of the host finds them; one says who holds the device.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from autosched.errors import AutoschedError

POLL_SECONDS = 0.1

FOLDER = Path("/tmp/autosched-locks")
"""One for all: who keeps temporary files elsewhere wants the same devices."""

OnWait = Callable[[str], None]


class DeviceBusy(AutoschedError):
    """Another process holds the device; the message names it."""


class DeviceHold:
    """A device, held by who has this. `file` and `queue` are descriptors of the two locks."""

    def __init__(self, device: str, file: int, queue: int) -> None:
        self._device = device
        self._file = file
        self._queue = queue

    def give_way(self) -> None:
        """Lets whoever waits for the device have it first; nothing if nobody does."""
        if _try(self._queue):
            fcntl.flock(self._queue, fcntl.LOCK_UN)
            return
        fcntl.flock(self._file, fcntl.LOCK_UN)
        self.take(None, None)

    def take(self, wait_seconds: float | None, on_wait: OnWait | None) -> None:
        """See `device_lock`. Only who is first in the queue may try."""
        waiting = _Waiting(self._words, wait_seconds, on_wait)
        waiting.take(self._queue)
        try:
            waiting.take(self._file)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def _words(self) -> str:
        pid = _written(self._file)
        holder = "another process" if pid is None else f"process {pid}"
        return f"device {self._device} is held by {holder}"


class _Waiting:
    """For locks, until a time; whoever wants to know hears once that it is so."""

    def __init__(
        self, words: Callable[[], str], wait_seconds: float | None, on_wait: OnWait | None
    ) -> None:
        self._words = words
        self._until = None if wait_seconds is None else time.monotonic() + wait_seconds
        self._on_wait = on_wait

    def take(self, file: int) -> None:
        if _try(file):
            return
        self._tell()
        if self._until is None:
            fcntl.flock(file, fcntl.LOCK_EX)  # asleep: a poll would disturb who is being timed
            return
        while not _try(file):
            if time.monotonic() >= self._until:
                raise DeviceBusy(self._words())
            time.sleep(POLL_SECONDS)

    def _tell(self) -> None:
        if self._on_wait is not None:
            self._on_wait(self._words())
            self._on_wait = None


@contextlib.contextmanager
def device_lock(
    device: str,
    *,
    folder: Path | None = None,
    wait_seconds: float | None = None,
    on_wait: OnWait | None = None,
) -> Iterator[DeviceHold]:
    """Holds `device` ("cpu", "cuda0") for the `with` block.

    Waits for at most `wait_seconds` (None: for ever) and raises DeviceBusy then; `on_wait` is told once who holds it.
    """
    with (
        _open(_path(device, folder, "lock")) as file,
        _open(_path(device, folder, "queue")) as queue,
    ):
        hold = DeviceHold(device, file, queue)
        hold.take(wait_seconds, on_wait)
        yield hold


def holder_of(device: str, *, folder: Path | None = None) -> int | None:
    """The process that holds `device` now; None if none does."""
    with _open(_path(device, folder, "lock")) as file:
        return None if _try(file) else _written(file)


@contextlib.contextmanager
def _open(path: Path) -> Iterator[int]:
    # Not O_CREAT: some kernels refuse that for another user's file, though it is there and may be written.
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)


def _try(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _written(file: int) -> int | None:
    """The process that the file names."""
    pid = os.pread(file, 32, 0).decode("ascii", "replace").strip()
    return int(pid) if pid.isdigit() else None


def _path(device: str, folder: Path | None, suffix: str) -> Path:
    if not re.fullmatch(r"[A-Za-z0-9._-]+", device):
        raise ValueError(f"device {device!r}: letters, digits, '.', '_' and '-' only")
    shared = folder or FOLDER
    if not shared.is_dir():
        with contextlib.suppress(FileExistsError):
            shared.mkdir(parents=True)
            shared.chmod(0o1777)
    path = shared / f"{device}.{suffix}"
    if not path.exists():
        with contextlib.suppress(OSError):
            path.touch()
            path.chmod(0o666)
    return path
