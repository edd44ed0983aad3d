"""A machine that exists in one function: kernel -> seconds or a failed outcome. For tests of what stands on measuring.

machine = SimulatedMachine(lambda kernel: 1e-3 if "fast" in kernel.source else Outcome.CRASHED)
machine.build([kernel]); machine.measure(artefact, check, policy)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from autosched.codegen.kernel import Kernel
from autosched.measure.protocol import Artefact, BuildResult, Check, InputSet, TimingPolicy
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Timing

BUILD_OUTCOMES = frozenset({Outcome.COMPILE_ERROR, Outcome.COMPILE_DEADLINE})


@dataclass
class SimulatedMachine:
    """Builder and runner in one. `answer` gives a call's seconds, or how the kernel fails; `built` and `measured` are
    the digests of what was asked for, in order."""

    answer: Callable[[Kernel], float | Outcome]
    built: list[str] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)

    def build(self, kernels: Sequence[Kernel], *, together: bool = False) -> list[BuildResult]:
        self.built += [k.digest for k in kernels]
        return [self._build(k) for k in kernels]

    def measure(
        self, artefact: Artefact, check: Check, policy: TimingPolicy, *, run: str = ""
    ) -> Measurement:
        self.measured.append(artefact.kernel.digest)
        answer, digest = self.answer(artefact.kernel), artefact.kernel.digest
        if isinstance(answer, Outcome):
            return Measurement(answer, error="simulated", source_digest=digest)
        slow = (
            policy.best_seconds is not None and answer > policy.give_up_ratio * policy.best_seconds
        )
        timing = _timing(answer, policy.threads)
        return Measurement(Outcome.OK, timing, source_digest=digest, early_stopped=slow)

    def side_by_side(
        self, artefacts: Sequence[Artefact], inputs: InputSet, policy: TimingPolicy
    ) -> list[Timing | None]:
        answers = [self.answer(a.kernel) for a in artefacts]
        return [None if isinstance(a, Outcome) else _timing(a, policy.threads) for a in answers]

    def _build(self, kernel: Kernel) -> BuildResult:
        answer = self.answer(kernel)
        if isinstance(answer, Outcome) and answer in BUILD_OUTCOMES:
            return BuildResult(answer, error="simulated")
        return BuildResult(Outcome.OK, Artefact(kernel, b"", ("simulated",)))


def _timing(seconds: float, threads: int) -> Timing:
    return Timing(seconds, 0.0, 5, 0.0, threads)
