"""Processes that are to run until somebody ends them: started, started again when they end, ended together.

Each is leader of a session of its own, so that a terminal's interrupt reaches the supervisor alone, and ends by SIGTERM
when the supervisor does, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from autosched.measure import linux

Say = Callable[[str], None]

KILLS = frozenset({signal.SIGKILL, signal.SIGTERM})
"""What others end a process by: a person, or a host that is out of memory."""

MOST_DOUBLINGS = 20


@dataclass(frozen=True)
class RestartRules:
    """`first_seconds` to the first restart, doubled up to `most_seconds`; a process that ran for `steady_seconds`
    starts afresh. `early_ends` in a row end everything; a process that was killed is not at fault, and is started again
    however often. `grace_seconds`: from SIGTERM to SIGKILL."""

    first_seconds: float = 0.5
    most_seconds: float = 10.0
    steady_seconds: float = 20.0
    early_ends: int = 5
    grace_seconds: float = 15.0


@dataclass(eq=False)
class Child:
    """One process to keep: `restart_at` is set while it is down."""

    name: str
    arguments: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    restart_at: float = 0.0
    short_lives: int = 0
    early_ends: int = 0


@dataclass(eq=False)
class Supervisor:
    """Keeps the processes of `commands` (name -> arguments) until `stop` or a failure; `say` tells a person, `watch` is
    called again and again. Secrets belong in the `environment`, for everybody on the host can read arguments."""

    commands: Mapping[str, Sequence[str]]
    environment: Mapping[str, str]
    say: Say
    rules: RestartRules = RestartRules()
    watch: Callable[[], None] = lambda: None
    children: list[Child] = field(default_factory=list)
    is_stopping: bool = False

    def stop(self) -> None:
        """Asks for the end; may be called from a signal handler."""
        self.is_stopping = True

    def run(self) -> bool:
        """Returns when all have ended: True if that was asked for, False if one of them cannot be kept running."""
        self.children = [Child(name, command) for name, command in self.commands.items()]
        try:
            while not self.is_stopping:
                if not all(self._keep(child) for child in self.children):
                    return False
                self.watch()
                time.sleep(0.05)
        finally:
            self._end_all()
        return True

    def _keep(self, child: Child) -> bool:
        """Starts the process where it is time to; False if it ends early again and again."""
        now = time.monotonic()
        if child.process is None:
            if now >= child.restart_at:
                self._start(child)
            return True
        status = child.process.poll()
        if status is None:
            return True
        _end_session(child.process)
        child.process = None
        self.say(f"{child.name} ended ({_how(status)})")
        return self._go_on(child, status, now)

    def _go_on(self, child: Child, status: int, now: float) -> bool:
        """Sets when it is started again; False if that would not help."""
        if now - child.started_at >= self.rules.steady_seconds:
            child.short_lives = child.early_ends = 0
        child.short_lives += 1
        child.early_ends += -status not in KILLS
        pause = self.rules.first_seconds * 2.0 ** min(child.short_lives - 1, MOST_DOUBLINGS)
        child.restart_at = now + min(pause, self.rules.most_seconds)
        if child.early_ends < self.rules.early_ends:
            return True
        self.say(
            f"{child.name} ended {child.early_ends} times within {self.rules.steady_seconds:.0f} s of its start: giving up"
        )
        return False

    def _start(self, child: Child) -> None:
        """Its last act before it becomes what it is to be is safe: the supervisor has one thread."""
        child.started_at = time.monotonic()
        child.process = subprocess.Popen(
            child.arguments,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_end_with_supervisor,  # noqa: PLW1509
        )

    def _end_all(self) -> None:
        """SIGTERM to each process, SIGKILL to its session after the grace."""
        running = [c.process for c in self.children if c.process is not None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + self.rules.grace_seconds
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            _end_session(process)


def _end_with_supervisor() -> None:
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGTERM)


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """Ends what is left of a process's group and reaps it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _how(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"
