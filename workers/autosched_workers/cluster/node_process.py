"""A process of Ray that this one keeps: whatever it starts and leaves behind is ours to end.

Its agents outlive a node that is killed, and actors outlive both: they become children of this process, which ends them.
Should this process be killed itself, its node is told to end, and the rest carries our tag (see `measure.janitor`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

import psutil

from autosched.measure import linux
from autosched.measure.janitor import VARIABLE, fresh_tag
from autosched_workers.cluster.said import Said

PAUSE_SECONDS = 0.1


class NodeProcess:
    """Runs from its making on."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        self._said = Said()
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **environment, VARIABLE: fresh_tag()},
            stdin=subprocess.DEVNULL,
            stdout=self._said.file,
            stderr=subprocess.STDOUT,
            preexec_fn=_end_with_parent,  # noqa: PLW1509
        )

    def poll(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.poll()

    def how(self) -> str:
        """In words, how it ended: its status, and the error that it said last, if there is one."""
        error = self._said.error()
        return f"status {self.poll()}" + (f" ({error})" if error else "")

    def reap(self) -> None:
        """Takes the status of what became a child of this process, and has ended."""
        for child in psutil.Process().children():
            if child.pid != self._process.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child.pid, os.WNOHANG)

    def end(self) -> None:
        """It and all that is left of it."""
        while children := psutil.Process().children(recursive=True):
            for child in children:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            time.sleep(PAUSE_SECONDS)


def _end_with_parent() -> None:
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGTERM)
