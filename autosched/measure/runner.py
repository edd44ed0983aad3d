"""Checking and timing on this machine's cores, in a process that anything may happen to."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import psutil

from autosched.codegen.kernel import Kernel
from autosched.errors import AutoschedError, InvalidInput
from autosched.measure.buffers import Placement
from autosched.measure.endings import failure_of, measurement_of, timing_of
from autosched.measure.janitor import fresh_tag
from autosched.measure.messages import (
    buffer_bytes,
    memory_file,
    pack_check,
    pack_kernel,
    unpack_kernel,
)
from autosched.measure.protocol import Artefact, Check, InputSet, TimingPolicy
from autosched.measure.session import Setting, pack_setting
from autosched.measure.timing import QUIET_SECONDS, TimingRule
from autosched.measure.warden import Warden, WardenLost
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Timing
from autosched.target.calibration import Calibration, least_seconds
from autosched.target.detect import physical_cores
from autosched.te.dtype import numpy_dtype

AT_END, AT_START, SHIFTED = Placement("end"), Placement("start"), Placement("start", 1)


class PinningFailed(AutoschedError):
    """The host did not let the threads stay on the cores they were given."""


class LocalRunner:
    """Runner (see `protocol`) on this machine. Close it, or use it in `with`.

    `library`: the compiled pool (`pool.pool_library`). `rng` picks input sets and buffer places. `memory_bytes` bounds a kernel's process (default:
    half of the machine's memory). `journal`: see `journal`. `device`: its name in measurements.
    """

    def __init__(
        self,
        library: Path,
        rng: np.random.Generator,
        *,
        cpus: Sequence[int] | None = None,
        memory_bytes: int | None = None,
        quiet_seconds: float = QUIET_SECONDS,
        journal: Path | None = None,
        tag: str | None = None,
        device: str = "",
    ) -> None:
        self._rng = rng
        self._device = device
        self._cpus = tuple(cpus) if cpus is not None else default_cpus()
        self._calibration: Calibration | None = None
        self._recalibrate: Callable[[], Calibration] | None = None
        self._memory_bytes = memory_bytes or psutil.virtual_memory().total // 2
        self._quiet_seconds = quiet_seconds
        self._warden_form = {
            "tag": tag or fresh_tag(),
            "threads_library": library,
            "journal": journal,
        }
        self._warden = self._fresh_warden()
        self._check: _SentCheck | None = None

    def measure(
        self, artefact: Artefact, check: Check, policy: TimingPolicy, *, run: str = ""
    ) -> Measurement:
        """Outcome of one candidate: checked under guard on two input sets, timed, checked again."""
        digest = artefact.kernel.digest
        setting = self._setting(policy, self._draw_checks(len(check.sets)))
        too_big = self._too_big([artefact], policy.threads)
        if too_big:
            return Measurement(Outcome.OUT_OF_MEMORY, error=too_big, source_digest=digest)
        request = {
            "job": "measure",
            "kernel": pack_kernel(artefact.kernel),
            "setting": pack_setting(setting),
            "limits": self._limits(policy.deadline_seconds),
            "label": self._label(artefact.kernel.name, digest, run),
        }
        try:
            answer = self._ask(self._warden, request, [artefact], check)
        except WardenLost as lost:
            return Measurement(Outcome.LOST, error=str(lost), source_digest=digest)
        found = measurement_of(answer, policy.threads, policy.deadline_seconds)
        found = self._doubt(found, artefact)
        return dataclasses.replace(found, source_digest=digest, device=self._device)

    def side_by_side(
        self, artefacts: Sequence[Artefact], inputs: InputSet, policy: TimingPolicy
    ) -> list[Timing | None]:
        """Interleaved timings in one fresh process; a contender that ends the process is left out of the next try."""
        live = list(range(len(artefacts)))
        while live:
            chosen = [artefacts[i] for i in live]
            answer = self._contest(chosen, inputs, policy)
            if answer is None:
                break
            if failure_of(answer, policy.deadline_seconds)[0] is Outcome.OK:
                return _sorted_timings(answer["result"], live, len(artefacts), policy.threads)
            if "contender" not in answer["note"]:
                break
            del live[answer["note"]["contender"]]
        return [None] * len(artefacts)

    def believe(
        self, calibration: Calibration, recalibrate: Callable[[], Calibration] | None = None
    ) -> None:
        """From now on no kernel is believed that is faster than `calibration` allows; `recalibrate` is asked once for
        a better one, should that happen."""
        self._calibration, self._recalibrate = calibration, recalibrate

    def close(self) -> None:
        self._warden.close()

    def __enter__(self) -> LocalRunner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _fresh_warden(self) -> Warden:
        return Warden("runner", **self._warden_form)  # type: ignore[arg-type]

    def _contest(
        self, artefacts: Sequence[Artefact], inputs: InputSet, policy: TimingPolicy
    ) -> dict[str, Any] | None:
        setting = self._setting(policy, tuple((0, place) for place in (AT_END, AT_START, SHIFTED)))
        seconds = policy.deadline_seconds * len(artefacts)
        request = {
            "job": "side_by_side",
            "kernels": [pack_kernel(a.kernel) for a in artefacts],
            "setting": pack_setting(setting),
            "limits": self._limits(seconds),
            "label": self._label("side_by_side"),
        }
        if self._too_big(artefacts, policy.threads):
            return None
        warden = self._fresh_warden()
        try:
            return self._ask(warden, request, artefacts, Check((inputs,)))
        except WardenLost:
            return None
        finally:
            warden.close()

    def _ask(
        self, warden: Warden, request: dict[str, Any], artefacts: Sequence[Artefact], check: Check
    ) -> dict[str, Any]:
        """Sends the request, with the check's arrays if this warden has not seen them."""
        files = [memory_file("autosched-kernel", [a.shared_object]) for a in artefacts]
        try:
            sent = self._check
            is_new = (
                not warden.is_running
                or sent is None
                or sent.check is not check
                or warden is not self._warden
            )
            if is_new:
                layout, file = pack_check(check, artefacts[0].kernel)
                files.append(file)
                request["check"] = layout
                sent = _SentCheck(check)
            assert sent is not None
            request["check_token"] = sent.token
            answer, _ = warden.ask(request, files, seconds=request["limits"]["wall_seconds"])
        finally:
            for file in files:
                os.close(file)
        if warden is self._warden:
            self._check = sent
        cpus = answer["cpus"]
        if cpus is not None and cpus != list(request["setting"]["cpus"]):
            raise PinningFailed(
                f"threads were to run on CPUs {request['setting']['cpus']}, they run on {cpus}"
            )
        return answer

    def _setting(self, policy: TimingPolicy, checks: tuple[tuple[int, Placement], ...]) -> Setting:
        if not 1 <= policy.threads <= len(self._cpus):
            raise InvalidInput(f"threads {policy.threads}: this runner has {len(self._cpus)} CPUs")
        names = [f.name for f in dataclasses.fields(TimingRule) if f.name != "quiet_seconds"]
        rule = TimingRule(
            **{n: getattr(policy, n) for n in names}, quiet_seconds=self._quiet_seconds
        )
        return Setting(tuple(self._cpus[: policy.threads]), checks, rule)

    def _draw_checks(self, n_sets: int) -> tuple[tuple[int, Placement], ...]:
        """Two sets where there are two; the second stands at a page's start, or one element further, by chance."""
        first, second = self._rng.permutation(n_sets)[[0, min(1, n_sets - 1)]]
        at_start = SHIFTED if self._rng.integers(2) else AT_START
        return (int(first), AT_END), (int(second), at_start)

    def _label(self, kernel: str, digest: str = "", run: str = "") -> dict[str, str]:
        """What the journal says of a run besides when it was and what came of it."""
        return {"kernel": kernel, "digest": digest, "run": run, "device": self._device}

    def _limits(self, seconds: float) -> dict[str, Any]:
        return {"wall_seconds": seconds, "memory_bytes": self._memory_bytes}

    def _too_big(self, artefacts: Sequence[Artefact], threads: int) -> str:
        needed = sum(unpack_kernel(pack_kernel(a.kernel)).memory_bytes(threads) for a in artefacts)
        if needed <= self._memory_bytes:
            return ""
        return f"its buffers need {needed} bytes, the limit is {self._memory_bytes}"

    def _doubt(self, found: Measurement, artefact: Artefact) -> Measurement:
        """A time that the machine cannot reach is a fault of the clock or of the kernel, not a result; but a busy
        machine may have been calibrated too low, so it gets another look first."""
        if found.outcome is not Outcome.OK or self._is_possible(found, artefact):
            return found
        if self._recalibrate is not None:
            again, self._recalibrate, self._calibration = self._recalibrate, None, None
            self._calibration = again()
        if self._is_possible(found, artefact):
            return found
        return dataclasses.replace(
            found, outcome=Outcome.UNSTABLE, error="faster than this machine can be"
        )

    def _is_possible(self, found: Measurement, artefact: Artefact) -> bool:
        if self._calibration is None or found.timing is None:
            return True
        least = _least_seconds(artefact.kernel, self._calibration, found.timing.threads)
        return found.timing.median_seconds >= least


class _SentCheck:
    """A check that the warden has; the reference keeps its identity from being used again."""

    _numbers = itertools.count()

    def __init__(self, check: Check) -> None:
        self.check = check
        self.token = str(next(self._numbers))


def default_cpus() -> tuple[int, ...]:
    """One CPU of each physical core in the affinity mask, then their siblings."""
    allowed = sorted(os.sched_getaffinity(0))
    cores = physical_cores(allowed)
    return (*cores, *(c for c in allowed if c not in cores))


def _least_seconds(kernel: Kernel, calibration: Calibration, threads: int) -> float:
    written = sum(buffer_bytes(b) for b in kernel.outputs)
    narrowest = min(numpy_dtype(b.dtype).itemsize for b in (*kernel.inputs, *kernel.outputs))
    return least_seconds(kernel.operations, written, narrowest, calibration, threads)


def _sorted_timings(
    result: dict[str, Any], live: Sequence[int], n: int, threads: int
) -> list[Timing | None]:
    timings: list[Timing | None] = [None] * n
    for number, entry in result.items():
        timings[live[int(number)]] = timing_of(entry["timing"], threads)
    return timings
