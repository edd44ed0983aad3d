"""Containment with and without namespaces: a host may refuse them, and nothing may be left behind there either."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autosched.measure.janitor import fresh_tag, scrubbed_environment, tagged_processes
from autosched.measure.warden import Warden, WardenLost

WARDEN = """
import json, os, sys, time
from autosched.measure import containment, linux
from autosched.measure.containment import Limits, contain

alone, body = sys.argv[1] == "namespaces", sys.argv[2]
if alone:
    containment.enter_namespaces(network=False)
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
else:
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)

def daemon(answer):
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(1000)
            time.sleep(1000)
    os.write(answer, b"started")

def hang(answer):
    daemon(answer)
    time.sleep(1000)

def eat(answer):
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1 << 20) * 16))

def bomb(answer):
    for _ in range(7):
        os.fork()
    os.setsid() if os.getpid() != os.getsid(0) else None
    time.sleep(1000)

def talk(answer):
    while True:
        os.write(1, b"noise " * 1000)
        os.write(answer, b"lies " * 1000)

limits = Limits(wall_seconds=20.0 if body in ("daemon", "eat") else 0.5, memory_bytes=300 << 20)
tuner, other = os.pipe()
ending = contain(globals()[body], limits, tuner)
try:
    left = os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    left = None
print(json.dumps({"pid": os.getpid(), "kind": ending.kind, "strays": ending.strays, "left": left,
                  "output": len(ending.output), "answer": len(ending.answer)}))
"""


def contained(mode: str, body: str) -> dict[str, Any]:
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", WARDEN, mode, body],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


CASES = [
    ("daemon", "exited", 6),
    ("hang", "deadline", 6),
    ("eat", "memory", 0),
    ("talk", "deadline", 0),
]


@pytest.mark.parametrize("mode", ["namespaces", "subreaper"])
@pytest.mark.parametrize(("body", "kind", "strays"), CASES)
def test_every_descendant_is_ended(mode: str, body: str, kind: str, strays: int) -> None:
    found = contained(mode, body)
    assert (found["kind"], found["left"]) == (kind, None)
    # A grandchild that had not been begotten yet cannot be counted.
    assert strays // 2 <= found["strays"] <= strays
    assert found["output"] <= 16 << 10
    assert found["answer"] <= (4 << 20) + (1 << 16)


@pytest.mark.parametrize("mode", ["namespaces", "subreaper"])
def test_a_fork_bomb_ends_at_its_deadline(mode: str) -> None:
    found = contained(mode, "bomb")
    assert (found["kind"], found["left"]) == ("deadline", None)
    assert found["strays"] > 50


@pytest.mark.parametrize("namespaces", [True, False])
def test_a_warden_leaves_nothing_in_either_mode(namespaces: bool, tmp_path: Path) -> None:
    tag = fresh_tag()
    warden = Warden("compiler", tag, namespaces=namespaces)
    script = "(setsid sleep 1000 &) ; setsid sleep 1000 & sleep 1000"
    request = {
        "job": "compile",
        "command": ["sh", "-c", script],
        "source": "",
        "folder": str(tmp_path),
        "folder_prefix": tag,
        "environment": scrubbed_environment(tag),
        "limits": {"wall_seconds": 3.0},
    }
    answer, _ = warden.ask(request, seconds=30.0)
    assert answer["kind"] == "deadline"
    assert answer["strays"] >= 2
    assert len(list(tagged_processes(tag))) == 2
    assert list(tmp_path.iterdir()) == []
    warden.close()
    assert list(tagged_processes(tag)) == []


@pytest.mark.parametrize("namespaces", [True, False])
def test_a_killed_warden_takes_its_job_with_it(namespaces: bool, tmp_path: Path) -> None:
    tag = fresh_tag()
    warden = Warden("compiler", tag, namespaces=namespaces)
    request = {
        "job": "compile",
        "command": ["sleep", "1000"],
        "source": "",
        "folder": str(tmp_path),
        "folder_prefix": tag,
        "environment": scrubbed_environment(tag),
        "limits": {"wall_seconds": 60.0},
    }
    warden.send(request)
    assert _wait_until(lambda: len(list(tagged_processes(tag))) == 3)
    for pid, _ in tagged_processes(tag):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        break
    with pytest.raises(WardenLost):
        warden.receive(5.0)
    assert _wait_until(lambda: not list(tagged_processes(tag)))
    assert warden.ask({**request, "command": ["true"]}, seconds=5.0)[0]["kind"] == "exited"
    warden.close()


def _wait_until(true: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
