"""The tuner's handle on a warden: a small process that begets, watches and ends what is not trusted.

Why a process of its own: the tuner has threads and state, so it must neither fork nor share memory with a kernel. The
warden has one thread and does one job at a time; it ends with its tuner, and everything below it ends with it.

warden = Warden("runner", tag)
reply, files = warden.ask({"job": "compile", ...}, seconds=20.0)
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import autosched
from autosched.measure.channel import Channel, ChannelClosed, ChannelTimeout
from autosched.measure.janitor import scrubbed_environment

GRACE_SECONDS = 10.0
START_SECONDS = 60.0

_BOOT = """
import json, sys
boot = json.loads(sys.argv[1])
sys.path[:] = boot["path"]
from autosched.measure.warden_process import main
main(boot)
"""


class WardenLost(Exception):
    """The warden ended or fell silent, or its host refused what it needs: no room on a disk, no process more. It has been
    ended whole."""


class Warden:
    """Starts on first use, restarts after a loss. Not safe for use from two threads at once."""

    def __init__(
        self,
        role: str,
        tag: str,
        *,
        threads_library: Path | None = None,
        journal: Path | None = None,
        namespaces: bool = True,
    ):
        """`role`: "compiler", "runner" or the MODULE:FUNCTION that makes its jobs; `tag` marks every process below; `threads_library` is the pool's file;
        `namespaces`: leave the host's processes and network where that is permitted."""
        self._boot = {
            "role": role,
            "library": str(threads_library) if threads_library else None,
            "journal": str(journal) if journal else None,
            "namespaces": namespaces,
        }
        self._tag = tag
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None

    @property
    def is_running(self) -> bool:
        return self._channel is not None

    def fileno(self) -> int:
        """Readable when an answer waits."""
        return self._running().fileno()

    def ask(
        self, message: dict[str, Any], files: Sequence[int] = (), *, seconds: float
    ) -> tuple[dict[str, Any], list[int]]:
        """Sends a request and waits for its answer, `seconds` and a grace at most. Raises WardenLost."""
        self.send(message, files)
        return self.receive(seconds)

    def send(self, message: dict[str, Any], files: Sequence[int] = ()) -> None:
        try:
            self._running().send(message, files)
        except ChannelClosed as error:
            self._lose(f"the warden is gone: {error}")

    def receive(self, seconds: float) -> tuple[dict[str, Any], list[int]]:
        try:
            answer, files = self._running().receive(seconds + GRACE_SECONDS)
            if "bug" in answer:
                raise RuntimeError(f"in the warden: {answer['bug']}")
            if "refused" not in answer:
                return answer, files
            self._lose(f"the host refused: {answer['refused']}")
        except ChannelTimeout:
            self._lose(f"the warden fell silent for {seconds + GRACE_SECONDS:.0f} s")
        except ChannelClosed as error:
            self._lose(f"the warden is gone: {error}")
        raise AssertionError("not reached")

    def end(self) -> None:
        """Ends the warden and all below it, from any thread: whoever waits for its answer meets WardenLost."""
        self._kill()

    def close(self) -> None:
        """Ends the warden and all below it."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            try:
                self._process.wait(timeout=2.0)
            except subprocess.TimeoutExpired:
                self._kill()
        self._channel = self._process = None

    def _running(self) -> Channel:
        if self._channel is None:
            self._start()
        assert self._channel is not None
        return self._channel

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        root = str(Path(autosched.__file__).parent.parent)
        boot = {
            **self._boot,
            "tuner": os.getpid(),
            "socket": theirs.fileno(),
            "path": [root, *(p for p in sys.path if p)],
        }
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, json.dumps(boot)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None,
                env=scrubbed_environment(self._tag),
                cwd="/",
                start_new_session=True,
            )
        self._channel = Channel(ours)
        try:
            self._channel.receive(START_SECONDS)
        except (ChannelClosed, ChannelTimeout) as error:
            self._kill()
            self._channel = self._process = None
            raise ChildProcessError(f"the warden process did not start: {error}") from None

    def _lose(self, reason: str) -> None:
        self._kill()
        if self._channel is not None:
            self._channel.close()
        self._channel = self._process = None
        raise WardenLost(reason)

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
