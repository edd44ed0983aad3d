"""A contender seen from the referee: started, told to run, ended."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autosched.bench.subject import Subject

PREPARE_SECONDS = 300.0
ROUND_SECONDS = 120.0
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
HINDRANCES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "ONEDNN_MAX_CPU_ISA", "MKL_DEBUG_CPU_TYPE")
"""Settings that hold a library below its best; no contender gets them."""


@dataclass(frozen=True)
class Turn:
    """One turn: median microseconds a call, and the share of its samples that were preempted."""

    us: float
    contended: float


class Contender:
    """One process. `how` says which of its forms the library chose."""

    def __init__(
        self,
        peer: str,
        subject: Subject,
        threads: int,
        cpus: Sequence[int],
    ) -> None:
        self.how = ""
        environment = {k: v for k, v in os.environ.items() if k not in HINDRANCES}
        environment |= dict.fromkeys(THREAD_VARIABLES, str(threads))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "autosched.bench.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            bufsize=0,
        )
        self._rest = b""
        self._request = {
            "peer": peer,
            "subject": subject.model_dump(),
            "threads": threads,
            "cpus": list(cpus),
        }

    def prepare(self) -> bool:
        """Whether the library can run the case at all. It stands still from then on, but for its turns."""
        answer = self._ask(self._request, PREPARE_SECONDS)
        self._process.send_signal(signal.SIGSTOP)
        self.how = str(answer["how"]) if answer else ""
        return bool(answer and answer["ready"])

    def turn(self, seconds: float) -> Turn | None:
        """Runs for at least `seconds`; None if the process is gone.

        Between turns the whole process is stopped: thread pools that spin while they wait would take the cores of
        whoever is next."""
        self._process.send_signal(signal.SIGCONT)
        answer = self._ask({"seconds": seconds}, ROUND_SECONDS)
        self._process.send_signal(signal.SIGSTOP)
        return Turn(answer["us"], answer["contended"]) if answer else None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
        except OSError:
            return None
        line = self._line(seconds)
        return json.loads(line) if line else None

    def _line(self, seconds: float) -> bytes:
        """One answer; empty if the process ended or said nothing in time."""
        assert self._process.stdout is not None
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._process.stdout], [], [], seconds)
            part = self._process.stdout.read(1 << 16) if ready else b""
            if not part:
                return b""
            self._rest += part
        line, self._rest = self._rest.split(b"\n", 1)
        return line
