"""A simulated builder and runner, each a process that may be killed, behind the protocols of `measure`."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from autosched.codegen.kernel import Kernel
from autosched.measure.janitor import fresh_tag, scrubbed_environment
from autosched.measure.protocol import Artefact, BuildResult, Check, InputSet, TimingPolicy
from autosched.nest.nodes import Nest
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Timing
from autosched.target.target import Target
from autosched.te.integer import Int

SCRIPT = Path(__file__).with_name("process.py")


class ProcessGone(Exception):
    """It ended under a request; the next one starts another."""


class Simulated:
    """A process of one role, started when it is first asked."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._process: subprocess.Popen[str] | None = None
        self._one_at_a_time = threading.Lock()

    def ask(self, request: Mapping[str, Any]) -> None:
        """Waits until the process has done it, and what was asked before. Raises ProcessGone."""
        with self._one_at_a_time:
            self._ask(request)

    def _ask(self, request: Mapping[str, Any]) -> None:
        process = self._process or self._start()
        try:
            _file(process.stdin).write(json.dumps(request) + "\n")
            _file(process.stdin).flush()
            answer = _file(process.stdout).readline()
        except OSError:
            answer = ""
        if not answer:
            self.close()
            raise ProcessGone(f"the simulated {self._role} ended")

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    _file(pipe).close()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SCRIPT), self._role],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=scrubbed_environment(fresh_tag()),
            text=True,
        )
        return self._process


def _file(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


class SimulatedBuilder:
    def __init__(self) -> None:
        self._process = Simulated("builder")

    def build(self, kernels: Sequence[Kernel], *, together: bool = False) -> list[BuildResult]:
        for _ in range(2):
            with contextlib.suppress(ProcessGone):
                self._process.ask({"seconds": 0.0})
                return [BuildResult(Outcome.OK, Artefact(k, b"", ())) for k in kernels]
        return [BuildResult(Outcome.LOST, error="the simulated builder died twice")] * len(kernels)

    def close(self) -> None:
        self._process.close()


class SimulatedRunner:
    """`device` says which one a turn is on; `seconds` is what a run takes."""

    def __init__(self, seconds: float, journal: Path | None, device: Callable[[], str]) -> None:
        self._process = Simulated("runner")
        self._seconds = seconds
        self._journal = None if journal is None else str(journal)
        self._device = device

    def measure(
        self, artefact: Artefact, check: Check, policy: TimingPolicy, *, run: str = ""
    ) -> Measurement:
        trial, _, attempt = run.partition("#")
        entry: dict[str, Any] = {
            "trial": trial,
            "attempt": int(attempt or 1),
            "device": self._device(),
        }
        try:
            self._process.ask({"seconds": self._seconds, "journal": self._journal, "entry": entry})
        except ProcessGone as gone:
            return Measurement(Outcome.LOST, error=str(gone))
        timing = _timing(artefact.kernel, policy.threads)
        return Measurement(Outcome.OK, timing, run_seconds=self._seconds, device=entry["device"])

    def side_by_side(
        self, artefacts: Sequence[Artefact], inputs: InputSet, policy: TimingPolicy
    ) -> list[Timing | None]:
        return [_timing(a.kernel, policy.threads) for a in artefacts]

    def close(self) -> None:
        self._process.close()


def simulated_text(nest: Nest, values: Mapping[Int, int], target: Target, name: str) -> Kernel:
    """Text enough to tell candidates apart."""
    source = json.dumps([str(nest.name), *(f"{s!r}={v}" for s, v in values.items())])
    return Kernel(name, "c", source, (), (), (), (), (), (), 0)


def _timing(kernel: Kernel, threads: int) -> Timing:
    """Between 1 and 1000 microseconds, by the text alone."""
    return Timing(1e-6 * (1 + int(kernel.digest[3:9], 16) % 1000), 0.0, 5, 0.0, threads)
