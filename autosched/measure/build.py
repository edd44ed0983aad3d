"""Building kernels: several compilers at once, each contained, its result looked at before anybody loads it."""

from __future__ import annotations

import errno
import os
import select
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from autosched.codegen.kernel import Kernel
from autosched.measure.compile_job import OUTPUT_NAME, SOURCE_NAME
from autosched.measure.elf import NotAnObject, exported_symbols
from autosched.measure.janitor import fresh_tag, scrubbed_environment
from autosched.measure.protocol import Artefact, BuildResult
from autosched.measure.unit import Unit, can_share, shares, unit_of
from autosched.measure.warden import Warden, WardenLost
from autosched.records.outcome import Outcome
from autosched.target.toolchain import LINK_FLAGS, Toolchain, compiler_environment

MAX_OBJECT_BYTES = 32 << 20
MAX_SOURCE_BYTES = 8 << 20
LOG_CHARACTERS = 4000
NO_ROOM = os.strerror(errno.ENOSPC)
"""A compiler that says so tells of its disk, not of the text."""


@dataclass(frozen=True)
class BuildLimits:
    """Of one compile. `memory_bytes` bounds the compiler's resident memory."""

    wall_seconds: float = 30.0
    cpu_seconds: int = 20
    memory_bytes: int = 4 << 30


class LocalBuilder:
    """Builder (see `protocol`) with `jobs` compilers side by side on this machine. Close it, or use it in `with`."""

    def __init__(
        self,
        toolchain: Toolchain,
        isa: str,
        *,
        jobs: int = 2,
        limits: BuildLimits | None = None,
        tag: str | None = None,
    ) -> None:
        """`tag` marks every process and folder, so that strays can be found (see `janitor`)."""
        self._toolchain = toolchain
        self._isa = isa
        self._limits = limits or BuildLimits()
        self._tag = tag or fresh_tag()
        self._wardens = [Warden("compiler", self._tag) for _ in range(max(1, jobs))]

    def build(self, kernels: Sequence[Kernel], *, together: bool = False) -> list[BuildResult]:
        """One result a kernel, in order. What fails in company is compiled alone, so that it has its own reason."""
        results: dict[int, BuildResult] = {}
        numbers = range(len(kernels))
        parts = shares(len(kernels), len(self._wardens)) if together else []
        self._run([p for p in parts if len(p) > 1], kernels, results)
        self._run([[n] for n in numbers if n not in results], kernels, results)
        return [results[n] for n in numbers]

    def _run(
        self,
        parts: Sequence[Sequence[int]],
        kernels: Sequence[Kernel],
        results: dict[int, BuildResult],
    ) -> None:
        """Compiles each part as one unit; a part of several leaves no results if it cannot be built."""
        waiting = list(parts)[::-1]
        idle, busy = list(self._wardens), dict[int, tuple[Warden, Sequence[int], Unit]]()

        def done(part: Sequence[int], found: list[BuildResult]) -> None:
            if len(part) == 1 or all(r.outcome is Outcome.OK for r in found):
                results.update(zip(part, found, strict=True))

        while waiting or busy:
            while waiting and idle:
                part, warden = waiting.pop(), idle.pop()
                group = [kernels[n] for n in part]
                if len(part) > 1 and not can_share(group):
                    idle.append(warden)
                    continue
                unit = unit_of(group)
                early = self._submit(warden, unit)
                if early is None:
                    busy[warden.fileno()] = warden, part, unit
                else:
                    done(part, [early] * len(part))
                    idle.append(warden)
            for handle in self._ready(list(busy)):
                warden, part, unit = busy.pop(handle)
                done(part, self._collect(warden, unit))
                idle.append(warden)

    def command(self) -> tuple[str, ...]:
        """The compile command, relative to a folder with the source in it."""
        t = self._toolchain
        pipe = ("-pipe",) if t.name == "gcc" else ()
        return (*t.command, *t.flags, *pipe, SOURCE_NAME, "-o", OUTPUT_NAME, *LINK_FLAGS)

    def close(self) -> None:
        for warden in self._wardens:
            warden.close()

    def __enter__(self) -> LocalBuilder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _submit(self, warden: Warden, unit: Unit) -> BuildResult | None:
        """Sends the text off; a result at once if it cannot be sent."""
        for kernel in unit.kernels:
            if kernel.language != "c":
                raise ValueError(f"kernel {kernel.name}: {kernel.language} is not for this builder")
        if len(unit.source) > MAX_SOURCE_BYTES:
            return BuildResult(
                Outcome.COMPILE_ERROR, error=f"the source has {len(unit.source)} characters"
            )
        limits = self._limits
        request = {
            "job": "compile",
            "command": list(self.command()),
            "source": unit.source,
            "folder": tempfile.gettempdir(),
            "folder_prefix": f"{self._tag}-",
            "environment": {
                **scrubbed_environment(self._tag),
                **compiler_environment(self._toolchain),
            },
            "limits": {
                "wall_seconds": limits.wall_seconds,
                "cpu_seconds": limits.cpu_seconds,
                "memory_bytes": limits.memory_bytes,
                "file_bytes": 4 * MAX_OBJECT_BYTES,
            },
        }
        try:
            warden.send(request)
        except WardenLost as lost:
            return BuildResult(Outcome.LOST, error=str(lost))
        return None

    @staticmethod
    def _ready(handles: list[int]) -> list[int]:
        if len(handles) == 1:
            return handles
        return select.select(handles, [], [], None)[0] if handles else []

    def _collect(self, warden: Warden, unit: Unit) -> list[BuildResult]:
        """A result for each kernel of the unit, among which its seconds are divided."""
        try:
            answer, files = warden.receive(self._limits.wall_seconds)
        except WardenLost as lost:
            return [BuildResult(Outcome.LOST, error=str(lost)) for _ in unit.kernels]
        try:
            shared_object = b"".join(_content(file) for file in files[:1])
        finally:
            for file in files:
                os.close(file)
        seconds = float(answer["seconds"]) / len(unit.kernels)
        return [self._result(kernel, answer, shared_object, seconds) for kernel in unit.kernels]

    def _result(
        self, kernel: Kernel, answer: dict[str, Any], shared_object: bytes, seconds: float
    ) -> BuildResult:
        failure = self._failure(answer, shared_object, kernel)
        log = str(answer["output"])[-LOG_CHARACTERS:]
        if failure is not None:
            outcome, error = failure
            return BuildResult(outcome, error=error, log=log, build_seconds=seconds)
        artefact = Artefact(kernel, shared_object, self.command())
        return BuildResult(Outcome.OK, artefact, log=log, build_seconds=seconds)

    def _failure(
        self, answer: dict[str, Any], shared_object: bytes, kernel: Kernel
    ) -> tuple[Outcome, str] | None:
        program = shlex.join(self._toolchain.command)
        if answer["kind"] == "deadline" or _used_up_its_time(answer):
            limit = f"{self._limits.wall_seconds:g} s, {self._limits.cpu_seconds} s of CPU"
            return Outcome.COMPILE_DEADLINE, f"{program} was ended at its deadline ({limit})"
        if answer["kind"] == "memory":
            return (
                Outcome.COMPILE_ERROR,
                f"{program} used more than {self._limits.memory_bytes} bytes of memory",
            )
        if answer["kind"] != "exited" or answer["status"] != 0:
            said = str(answer["output"]).strip().splitlines()
            first = next(
                (line for line in said if "error" in line), said[0] if said else "no output"
            )
            full = next((line for line in said if NO_ROOM in line), None)
            if full is not None:
                return Outcome.LOST, f"{program} {_how(answer)}: {full[:500]}"
            return Outcome.COMPILE_ERROR, f"{program} {_how(answer)}: {first[:500]}"
        return _object_failure(shared_object, kernel, self._isa)


def _object_failure(shared_object: bytes, kernel: Kernel, isa: str) -> tuple[Outcome, str] | None:
    try:
        symbols = exported_symbols(shared_object, isa)
    except NotAnObject as error:
        return Outcome.COMPILE_ERROR, f"the compiler's output is no shared object: {error}"
    missing = sorted({r.symbol for r in (*kernel.prepare, *kernel.regions)} - symbols)
    return (
        (Outcome.COMPILE_ERROR, f"the compiler's output lacks {', '.join(missing)}")
        if missing
        else None
    )


def _used_up_its_time(answer: dict[str, Any]) -> bool:
    """A driver reports its child's SIGXCPU in words and exits by itself."""
    return (
        answer["kind"] == "signalled" and answer["status"] in (24, 9)
    ) or "CPU time limit" in answer["output"]


def _how(answer: dict[str, Any]) -> str:
    verb = "ended by signal" if answer["kind"] == "signalled" else "failed with status"
    return f"{verb} {answer['status']}"


def _content(file: int) -> bytes:
    size = min(os.fstat(file).st_size, MAX_OBJECT_BYTES + 1)
    data = b""
    while len(data) < size and (part := os.pread(file, size - len(data), len(data))):
        data += part
    return data
