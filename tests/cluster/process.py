"""A command that runs on a test host, as its starter outside sees it."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from autosched.testing.waiting import until


@dataclass(frozen=True)
class Running:
    """`entry` entered the host and waits there; `process` is the command itself. `log` is what it wrote, if a file was
    named: it stays readable when the host has ended."""

    entry: subprocess.Popen[bytes]
    process: psutil.Process
    log: Path | None

    def poll(self) -> int | None:
        """The exit status (negative: the signal that ended it); None while it runs."""
        return self.entry.poll()

    def wait(self, seconds: float = 60.0) -> int:
        return self.entry.wait(seconds)

    def send(self, number: signal.Signals) -> None:
        """A signal to the command, which may be gone already."""
        with suppress(psutil.NoSuchProcess):
            self.process.send_signal(number)

    def end(self, seconds: float = 60.0) -> int:
        """SIGTERM, and the exit status."""
        self.send(signal.SIGTERM)
        return self.wait(seconds)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.entry.wait()

    def text(self) -> str:
        """What it wrote so far."""
        return self.log.read_text(errors="replace") if self.log else ""


def command_of(entry: subprocess.Popen[bytes]) -> psutil.Process:
    """The process that `nsenter` started inside; the entry itself if it has ended already."""
    outside = psutil.Process(entry.pid)

    def found() -> psutil.Process | None:
        if entry.poll() is not None:
            return outside
        return next(iter(outside.children()), None)

    process = until(found)
    assert process is not None
    return process
