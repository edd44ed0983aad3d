"""The contender's process: prepares one function, then runs it for a while whenever it is told to.

It reads JSON lines and answers with JSON lines; between them it blocks in a read. Whatever a library prints goes to
stderr.

    {"peer": "torch", "subject": {...}, "threads": 2, "cpus": [0, 1]}  ->  {"ready": true, "how": "compile"}
    {"seconds": 0.02}                                                  ->  {"us": 81.2, "samples": 90, "contended": 0.0}
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter

from autosched.bench.peers import PEERS
from autosched.bench.subject import Subject
from autosched.measure.linux import die_with_parent

SAMPLE_SECONDS = 200e-6
"""Calls are timed together until they take this long, so that reading the clock costs nothing."""


def main() -> None:
    die_with_parent()  # stopped between turns, it would not see its input end
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    os.sched_setaffinity(0, request["cpus"])
    prepared = importlib.import_module(PEERS[request["peer"]]).prepare(
        TypeAdapter(Subject).validate_python(request["subject"]), request["threads"]
    )
    _say(answers, {"ready": prepared is not None, "how": prepared.how if prepared else ""})
    if prepared is None:
        return
    calls = calls_per_sample(prepared.run)
    for line in sys.stdin:
        _say(answers, timed(prepared.run, calls, json.loads(line)["seconds"]))


def _say(answers: Any, message: dict[str, object]) -> None:
    answers.write(json.dumps(message) + "\n")


def calls_per_sample(run: Callable[[], object]) -> int:
    """How many calls fill one sample, after a few to warm up."""
    for _ in range(3):
        run()
    start = time.perf_counter()
    run()
    once = max(time.perf_counter() - start, 1e-7)
    return max(1, round(SAMPLE_SECONDS / once))


def timed(run: Callable[[], object], calls: int, seconds: float) -> dict[str, object]:
    """Median microseconds a call over samples that fill `seconds`, and the share of samples that were preempted."""
    run()
    samples: list[float] = []
    contended = 0
    end = time.perf_counter() + seconds
    while not samples or time.perf_counter() < end:
        switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        start = time.perf_counter()
        for _ in range(calls):
            run()
        samples.append((time.perf_counter() - start) / calls)
        contended += resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw > switches
    return {
        "us": statistics.median(samples) * 1e6,
        "samples": len(samples),
        "contended": contended / len(samples),
    }


if __name__ == "__main__":
    main()
