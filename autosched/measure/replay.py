"""Search without hardware: a builder and a runner that give back what was once measured.

Measurements are found by the digest of the kernel's text, so a replay is honest about code: other text, no answer.
What was never measured is `lost`, the one outcome that says nothing about a candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autosched.codegen.kernel import Kernel
from autosched.measure.protocol import Artefact, BuildResult, Check, InputSet, TimingPolicy
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Timing

UNKNOWN = "no measurement of this code is recorded"
_BUILD_FAILURES = frozenset({Outcome.COMPILE_ERROR, Outcome.COMPILE_DEADLINE})


class ReplayBuilder:
    """Builder whose artefacts are empty; kernels whose recorded outcome is a failed build fail the same way."""

    def __init__(self, recorded: Mapping[str, Measurement]) -> None:
        """`recorded`: kernel digest -> measurement."""
        self._recorded = recorded

    def build(self, kernels: Sequence[Kernel], *, together: bool = False) -> list[BuildResult]:
        return [self._build(k) for k in kernels]

    def _build(self, kernel: Kernel) -> BuildResult:
        found = self._recorded.get(kernel.digest)
        if found is not None and found.outcome in _BUILD_FAILURES:
            return BuildResult(
                found.outcome, error=found.error, log=found.log, build_seconds=found.build_seconds
            )
        seconds = found.build_seconds if found is not None else 0.0
        return BuildResult(Outcome.OK, Artefact(kernel, b"", ()), build_seconds=seconds)


class ReplayRunner:
    """Runner that looks measurements up. The check and the policy change nothing."""

    def __init__(self, recorded: Mapping[str, Measurement]) -> None:
        self._recorded = recorded

    def measure(self, artefact: Artefact, check: Check, policy: TimingPolicy) -> Measurement:
        digest = artefact.kernel.digest
        return self._recorded.get(digest) or Measurement(
            Outcome.LOST, error=UNKNOWN, source_digest=digest
        )

    def side_by_side(
        self, artefacts: Sequence[Artefact], inputs: InputSet, policy: TimingPolicy
    ) -> list[Timing | None]:
        found = (self._recorded.get(a.kernel.digest) for a in artefacts)
        return [f.timing if f is not None and f.outcome is Outcome.OK else None for f in found]
