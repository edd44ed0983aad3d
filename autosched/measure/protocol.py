"""What building and running must offer: three small protocols and the values that pass between them.

check = Check(...)                                 # made by `tuning`, never from the nest
build = builder.build(kernel)                      # BuildResult: an artefact or a failed outcome
run   = runner.measure(build.artefact, check, ...) # Measurement: a failing candidate is a value
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from autosched.codegen.kernel import Kernel
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Timing

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Artefact:
    """A compiled kernel: the shared object's bytes, which may have others beside it, and the kernel it was built from,
    its regions under the symbols that the object has them under."""

    kernel: Kernel
    shared_object: bytes
    command: tuple[str, ...]


@dataclass(frozen=True)
class BuildResult:
    """`artefact` if and only if outcome is ok."""

    outcome: Outcome
    artefact: Artefact | None = None
    error: str = ""
    log: str = ""
    build_seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class InputSet:
    """Inputs in kernel order and the expected outputs. `exact`: compared bit for bit; otherwise
    |error| <= `tolerances[i]` elementwise for output i (absolute, already scaled by rms and reduction length)."""

    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]
    tolerances: tuple[float, ...]
    exact: bool = False


@dataclass(frozen=True, eq=False)
class Check:
    """The input sets of a task; one is picked at random for each checking run."""

    sets: tuple[InputSet, ...]


@dataclass(frozen=True)
class TimingPolicy:
    """`best_seconds`: the fastest known; a candidate slower than `give_up_ratio` times it stops after few samples.
    `deadline_seconds` bounds the wall time of the whole run, checks included."""

    threads: int
    best_seconds: float | None = None
    give_up_ratio: float = 3.0
    min_samples: int = 5
    max_samples: int = 200
    sample_seconds: float = 0.002
    cap_seconds: float = 0.04
    deadline_seconds: float = 20.0


class Builder(Protocol):
    """Compiles kernels. Each compile runs in a process group of its own and is ended whole at its deadline."""

    def build(self, kernels: Sequence[Kernel], *, together: bool = False) -> list[BuildResult]:
        """One result a kernel, in order; compiles run in parallel. `together`: kernels may share a compile and so an
        object, which is faster; one that fails is compiled alone again."""
        ...


class Runner(Protocol):
    """Checks and times artefacts on one device, one at a time, in a disposable process."""

    def measure(
        self, artefact: Artefact, check: Check, policy: TimingPolicy, *, run: str = ""
    ) -> Measurement:
        """Outcome of one candidate; never raises for what the candidate did. `lost`: the runner died, not the
        candidate. `run` names this run (a trial and its attempt) in logs."""
        ...

    def side_by_side(
        self, artefacts: Sequence[Artefact], inputs: InputSet, policy: TimingPolicy
    ) -> list[Timing | None]:
        """Interleaved timings in one fresh process; None for a contender that failed."""
        ...
