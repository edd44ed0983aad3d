"""Kernel runs inside a warden: the check is kept mapped between runs, each run is a child of its own."""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autosched.measure.containment import Ending, Limits, contain
from autosched.measure.journal import append_line, keep_object, now_seconds
from autosched.measure.messages import MappedSet, unpack_check, unpack_kernel
from autosched.measure.pool import declare
from autosched.measure.session import Session, Setting, unpack_setting

Answer = tuple[dict[str, Any], list[int]]


class KernelJobs:
    """The jobs of a runner's warden. `journal`: a file to which every finished run is appended, see there."""

    def __init__(self, library: ctypes.CDLL, journal: str | None) -> None:
        self._library = declare(library)
        self._journal = Path(journal) if journal else None
        self._token: str | None = None
        self._sets: list[MappedSet] = []

    def measure(self, request: dict[str, Any], files: list[int], abandon: int) -> Answer:
        """`files`: the shared object, and the check's arrays if `request` brings their layout."""
        self._take_check(request, files[1:])
        spec, setting = unpack_kernel(request["kernel"]), unpack_setting(request["setting"])

        def body(answer: int) -> None:
            self._session(setting, answer).measure(spec, files[0])

        return self._run(body, request, files[:1], abandon)

    def side_by_side(self, request: dict[str, Any], files: list[int], abandon: int) -> Answer:
        """`files`: the shared objects, and the check's arrays last if `request` brings their layout."""
        specs, setting = (
            [unpack_kernel(k) for k in request["kernels"]],
            unpack_setting(request["setting"]),
        )
        objects = files[: len(specs)]
        self._take_check(request, files[len(specs) :])

        def body(answer: int) -> None:
            self._session(setting, answer).side_by_side(specs, objects)

        return self._run(body, request, objects, abandon)

    def _session(self, setting: Setting, answer: int) -> Session:
        return Session(self._library, setting, self._sets, answer)

    def _take_check(self, request: dict[str, Any], files: list[int]) -> None:
        if files:
            self._sets = unpack_check(request["check"], files[0])
            self._token = request["check_token"]
        if self._token != request["check_token"]:
            raise RuntimeError("the check of another task is loaded")

    def _run(
        self,
        body: Callable[[int], None],
        request: dict[str, Any],
        objects: list[int],
        abandon: int,
    ) -> Answer:
        begun = now_seconds()
        ending = contain(body, Limits(**request["limits"]), abandon)
        answer = _answer(ending)
        if self._journal is not None:
            when = {"begun": begun, "ended": now_seconds(), "at": time.time()}
            kept = [keep_object(self._journal, file) for file in objects]
            what = {"kind": ending.kind, "objects": kept, "result": answer["result"]}
            append_line(self._journal, {**request["label"], **when, **what})
        return answer, []


def _answer(ending: Ending) -> dict[str, Any]:
    """The ending with the child's lines sorted out: its notes, its last words if it died of a fault, its result."""
    notes, fault, result = [], None, None
    for line in ending.answer.decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) == 3 and all(w.isdigit() for w in words):
            fault = [int(w) for w in words]
        elif (said := _object(line)) is not None:
            notes.append(said)
            result = said.get("result", result)
    return {
        "kind": ending.kind,
        "status": ending.status,
        "strays": ending.strays,
        "seconds": ending.wall_seconds,
        "output": ending.output.decode("utf-8", "replace"),
        "note": _last_with(notes, "phase"),
        "cpus": _last_with(notes, "cpus").get("cpus"),
        "fault": fault,
        "result": result,
    }


def _last_with(notes: list[dict[str, Any]], key: str) -> dict[str, Any]:
    return next((n for n in reversed(notes) if key in n), {})


def _object(line: str) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None
