"""From how a run ended to the outcome of its candidate, in words for a person."""

from __future__ import annotations

import errno
import math
import signal
from dataclasses import replace
from typing import Any

from autosched.measure.containment import CHILD_FAILED
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Timing

NEAR_BYTES = 1 << 20
NULL_BYTES = 1 << 16
LOG_CHARACTERS = 4000


def measurement_of(answer: dict[str, Any], threads: int, deadline_seconds: float) -> Measurement:
    """`answer` as `kernel_job` gives it."""
    outcome, error = failure_of(answer, deadline_seconds)
    log, seconds = str(answer["output"])[-LOG_CHARACTERS:], float(answer["seconds"])
    found = Measurement(outcome, error=error, log=log, run_seconds=seconds)
    return found if outcome is not Outcome.OK else _with_result(found, answer["result"], threads)


def _with_result(found: Measurement, result: dict[str, Any], threads: int) -> Measurement:
    """What the child itself said: a failed check, or a timing."""
    max_error = _finite(result["max_error"])
    if "fault" in result:
        outcome = Outcome.CRASHED if result["is_damage"] else Outcome.WRONG_RESULT
        return replace(found, outcome=outcome, error=str(result["fault"]), max_error=max_error)
    timing = timing_of(result["timing"], threads)
    if result["verdict"] == "no_quiet":
        text = f"every one of {timing.n_samples} samples was disturbed by other load"
        return replace(
            found, outcome=Outcome.UNSTABLE, timing=timing, error=text, max_error=max_error
        )
    gave_up = result["verdict"] == "gave_up"
    return replace(found, timing=timing, max_error=max_error, early_stopped=gave_up)


def timing_of(data: dict[str, Any], threads: int) -> Timing:
    return Timing(
        float(data["median_seconds"]),
        float(data["spread_seconds"]),
        int(data["n_samples"]),
        float(data["contended_share"]),
        threads,
    )


def failure_of(answer: dict[str, Any], deadline_seconds: float) -> tuple[Outcome, str]:
    """OK if the child lived to give its result, else what became of it."""
    where = _where(answer["note"])
    if answer["kind"] == "deadline":
        return Outcome.RUN_DEADLINE, f"did not end within {deadline_seconds:g} s ({where})"
    if answer["kind"] == "abandoned":
        return Outcome.LOST, "the tuner went away"
    if answer["kind"] == "memory" or _ran_out_of_memory(answer):
        return Outcome.OUT_OF_MEMORY, f"used more memory than its limit ({where})"
    if answer["kind"] == "signalled":
        return (
            Outcome.CRASHED,
            f"ended by {_signal_name(answer['status'])}{_address(answer)} ({where})",
        )
    if answer["result"] is None or answer["status"] != 0:
        return (
            Outcome.CRASHED,
            f"its process ended by itself with status {answer['status']} ({where})",
        )
    if answer["strays"]:
        return Outcome.CRASHED, f"left {answer['strays']} processes behind"
    return Outcome.OK, ""


def _ran_out_of_memory(answer: dict[str, Any]) -> bool:
    if answer["kind"] == "exited":
        return answer["status"] == CHILD_FAILED and "MemoryError" in answer["output"]
    if not answer["fault"]:
        return False
    number, address, error = answer["fault"]
    used_null = number == signal.SIGABRT or address < NULL_BYTES
    return bool(error == errno.ENOMEM and used_null)


def _where(note: dict[str, Any]) -> str:
    words = {
        "start": "before it was loaded",
        "load": "while it was loaded",
        "time": "while it was timed",
    }
    return str(note.get("words") or words.get(note.get("phase", ""), "after timing"))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _address(answer: dict[str, Any]) -> str:
    """Where it stepped, relative to the buffer it left."""
    if not answer["fault"] or answer["fault"][0] not in (signal.SIGSEGV, signal.SIGBUS):
        return ""
    address = answer["fault"][1]
    distance, words = min(
        (_distance(address, *entry) for entry in answer["note"].get("layout", [])),
        default=(NEAR_BYTES, ""),
    )
    if distance < NEAR_BYTES:
        return f", {words}"
    return f" at address {address:#x}"


def _distance(address: int, name: str, start: int, size: int) -> tuple[int, str]:
    if address < start:
        return start - address, f"{start - address} bytes before the start of {name}"
    if address >= start + size:
        return address - start - size, f"{address - start - size} bytes past the end of {name}"
    return 0, f"writing to {name}, which it may only read"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
