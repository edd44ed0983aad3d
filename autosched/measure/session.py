"""The life of the disposable child: load, check, time, say what was found.

It says one JSON line a step on its answer file, so that whoever reads knows how far it came when it dies. A copy of
the process that a kernel forked off says nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from autosched.measure.buffers import Placement
from autosched.measure.containment import drop_privileges
from autosched.measure.interleave import Contest, run_contest
from autosched.measure.loaded import Layout, LoadedKernel, Probes, Verdict
from autosched.measure.messages import KernelSpec, MappedSet
from autosched.measure.pool import Pool
from autosched.measure.timing import Series, TimingRule, time_calls


@dataclass(frozen=True)
class Setting:
    """Where and how a session runs. `checks`: (set number, placement) of each checking run."""

    cpus: tuple[int, ...]
    checks: tuple[tuple[int, Placement], ...]
    rule: TimingRule


class Voice:
    """Says JSON lines on a file, from the process that made it alone."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._pid = os.getpid()

    def say(self, message: dict[str, Any]) -> None:
        if os.getpid() == self._pid:
            data = json.dumps(message).encode() + b"\n"
            while data:
                data = data[os.write(self._file, data) :]


class Session:
    """One child's work on kernels; made after the fork."""

    def __init__(
        self, library: ctypes.CDLL, setting: Setting, sets: Sequence[MappedSet], answer: int
    ) -> None:
        self._library, self._setting, self._sets = library, setting, sets
        self._voice = Voice(answer)
        self._voice.say({"phase": "start"})
        drop_privileges()
        os.sched_setaffinity(0, {setting.cpus[0]})
        self._pool = Pool(library, len(setting.cpus), setting.cpus)
        _forbid_processes()
        library.watch_faults(answer)

    def measure(self, spec: KernelSpec, file: int) -> None:
        """Checks, times and checks again; the last line said is the result."""
        self._voice.say({"phase": "load", "cpus": self._cpus()})
        kernel = LoadedKernel(file, spec, self._pool)
        max_error, failure = self._check(kernel, {})
        if failure:
            self._voice.say({"result": failure})
            return
        self._voice.say({"phase": "time"})
        timed = kernel.place(self._sets[self._setting.checks[0][0]])
        timed.run()
        timed.poison()
        probes = Probes(self._library, self._setting.cpus)
        series, verdict = time_calls(lambda calls: timed.sample(calls, probes), self._setting.rule)
        self._voice.say({"phase": "verify"})
        last = timed.verify()
        if last.fault:
            self._voice.say({"result": _failure(last, "after timing")})
        else:
            self._voice.say(
                {"result": {"verdict": verdict, "max_error": max_error, **_timing(series)}}
            )

    def side_by_side(self, specs: Sequence[KernelSpec], files: Sequence[int]) -> None:
        """Checks every contender, then times those that are right in rotating rounds."""
        self._voice.say({"phase": "start", "cpus": self._cpus()})
        contenders = {}
        for number, (spec, file) in enumerate(zip(specs, files, strict=True)):
            self._voice.say({"phase": "load", "contender": number})
            kernel = LoadedKernel(file, spec, self._pool)
            if not self._check(kernel, {"contender": number})[1]:
                contenders[number] = kernel.place(self._sets[0])
        probes = Probes(self._library, self._setting.cpus)
        contest = Contest(list(contenders), self._setting.rule)

        def take(number: int, calls: int) -> Any:
            self._voice.say({"phase": "time", "contender": number})
            return contenders[number].sample(calls, probes)

        run_contest(contest, take)
        right = {n: s for n, s in contest.series.items() if self._is_right(contenders[n], n)}
        self._voice.say({"result": {str(n): _timing(s) for n, s in right.items() if s.n_taken}})

    def _is_right(self, contender: Any, number: int) -> bool:
        self._voice.say({"phase": "verify", "contender": number})
        return not contender.verify().fault

    def _check(
        self, kernel: LoadedKernel, who: dict[str, int]
    ) -> tuple[float, dict[str, Any] | None]:
        """Largest error, and the failure that ends the run if there is one."""
        largest = 0.0
        for number, placement in self._setting.checks:
            words = f"in the checking run on input set {number}, guard at the {placement.side}"
            announce = partial(self._announce, {"phase": "check", "words": words, **who})
            self._library.watch_errno(0)
            verdict = kernel.checked_run(self._sets[number], placement, announce)
            largest = max(largest, verdict.max_error)
            if verdict.fault:
                return largest, _failure(verdict, words)
        return largest, None

    def _announce(self, note: dict[str, Any], layout: Layout) -> None:
        self._voice.say({**note, "layout": layout})

    def _cpus(self) -> list[int]:
        """The CPUs the threads are pinned to, read back."""
        own = sorted(os.sched_getaffinity(0))
        return [own[0] if len(own) == 1 else -1, *self._pool.worker_cpus()]


def _failure(verdict: Verdict, words: str) -> dict[str, Any]:
    return {
        "fault": f"{verdict.fault} ({words})",
        "is_damage": verdict.is_damage,
        "max_error": verdict.max_error,
    }


def _timing(series: Series) -> dict[str, Any]:
    middle, spread, n = series.summary()
    values = {"median_seconds": middle, "spread_seconds": spread, "n_samples": n}
    return {"timing": {**values, "contended_share": series.contended_share}}


def _forbid_processes() -> None:
    """Our threads are up: from here on the kernel may start nothing. Root is not bound by this, nobody is."""
    with contextlib.suppress(OSError, ValueError):
        if os.geteuid() != 0:
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def pack_setting(setting: Setting) -> dict[str, Any]:
    return asdict(setting)


def unpack_setting(data: dict[str, Any]) -> Setting:
    checks = tuple((int(number), Placement(**where)) for number, where in data["checks"])
    return Setting(tuple(data["cpus"]), checks, TimingRule(**data["rule"]))
