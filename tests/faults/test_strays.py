"""Nothing outlives a run: not what a kernel or a compiler begot, not what a killed tuner had running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from autosched.measure.build import BuildLimits, LocalBuilder
from autosched.measure.janitor import fresh_tag, sweep, tagged_processes
from autosched.measure.protocol import TimingPolicy
from autosched.measure.runner import LocalRunner
from autosched.records.outcome import Outcome
from autosched.target.target import Target
from autosched.target.toolchain import Toolchain
from autosched.testing.kernels import DOUBLE, doubling_check, doubling_kernel
from autosched.testing.waiting import until

POLICY = TimingPolicy(threads=1, deadline_seconds=1.0, cap_seconds=0.005)
FORK = "int fork(void); int setsid(void); int pause(void);"
DAEMON = "if (!first && !fork()) { setsid(); if (!fork()) for (;;) pause(); pause(); }"


@pytest.mark.parametrize(
    "body", [f"{DOUBLE} {DAEMON}", f"{DAEMON} for (;;) pause();"], ids=["returns", "hangs"]
)
def test_children_of_a_kernel_are_gone_with_it(
    body: str, builder: LocalBuilder, library: Path
) -> None:
    artefact = builder.build([doubling_kernel(body, FORK)])[0].artefact
    assert artefact is not None
    tag = fresh_tag()
    with LocalRunner(library, np.random.default_rng(1), tag=tag) as runner:
        runner.measure(artefact, doubling_check(), POLICY)
        wardens = len(list(tagged_processes(tag)))
        assert wardens <= 2
    assert list(tagged_processes(tag)) == []


def compiler(folder: Path, script: str) -> Toolchain:
    """A shell script in place of a compiler."""
    path = folder / "cc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return Toolchain("gcc", (str(path),), "0.0", ())


SCRIPTS = [
    ("hangs", "while :; do :; done", Outcome.COMPILE_DEADLINE, "deadline"),
    ("sleeps", "sleep 1000", Outcome.COMPILE_DEADLINE, "deadline"),
    (
        "forks and leaves",
        "(setsid sleep 1000 &) ; (sleep 1000 &) ; exit 3",
        Outcome.COMPILE_ERROR,
        "status 3",
    ),
    ("forks and stays", "setsid sleep 1000 & sleep 1000", Outcome.COMPILE_DEADLINE, "deadline"),
    ("crashes", "kill -SEGV $$", Outcome.COMPILE_ERROR, "signal 11"),
    (
        "ignores its end",
        "trap '' TERM INT HUP; sleep 1000; sleep 1000",
        Outcome.COMPILE_DEADLINE,
        "deadline",
    ),
    ("prints garbage", "head -c 3000000 /dev/urandom; exit 1", Outcome.COMPILE_ERROR, "status 1"),
    (
        "writes garbage",
        "head -c 5000 /dev/urandom > kernel.so",
        Outcome.COMPILE_ERROR,
        "no shared object",
    ),
    ("writes nothing", "exit 0", Outcome.COMPILE_ERROR, "no shared object"),
    (
        "writes half a file",
        "printf '\\177ELF\\002\\001' > kernel.so",
        Outcome.COMPILE_ERROR,
        "no shared object",
    ),
    (
        "complains",
        "echo 'kernel.c:3:1: error: no such thing' >&2; exit 1",
        Outcome.COMPILE_ERROR,
        "no such thing",
    ),
    (
        "has no room",
        "echo 'kernel.c: error: cannot write'; echo 'as: kernel.o: No space left on device'; exit 1",
        Outcome.LOST,
        "No space left",
    ),
]


@pytest.mark.parametrize(
    ("name", "script", "outcome", "says"), SCRIPTS, ids=[s[0] for s in SCRIPTS]
)
def test_a_bad_compiler_gets_its_outcome_and_leaves_nothing(
    name: str, script: str, outcome: Outcome, says: str, tmp_path: Path, host: Target
) -> None:
    tag = fresh_tag()
    limits = BuildLimits(wall_seconds=0.5, cpu_seconds=5)
    with LocalBuilder(
        compiler(tmp_path, script), host.isa, jobs=1, limits=limits, tag=tag
    ) as builder:
        result = builder.build([doubling_kernel()])[0]
        assert len(list(tagged_processes(tag))) <= 2
    assert (result.outcome, result.artefact) == (outcome, None)
    assert says in result.error
    assert len(result.log) <= 4000
    assert list(tagged_processes(tag)) == []


def test_a_host_without_room_says_nothing_of_a_kernel(
    tmp_path: Path, host: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with LocalBuilder(compiler(tmp_path, "exit 0"), host.isa, jobs=1) as builder:
        result = builder.build([doubling_kernel()])[0]
    assert (result.outcome, result.artefact) == (Outcome.LOST, None)
    assert str(tmp_path / "nowhere") in result.error


def test_a_compiler_that_uses_up_its_cpu_time_is_ended(tmp_path: Path, host: Target) -> None:
    limits = BuildLimits(wall_seconds=30.0, cpu_seconds=1)
    with LocalBuilder(
        compiler(tmp_path, "while :; do :; done"), host.isa, jobs=1, limits=limits
    ) as builder:
        assert builder.build([doubling_kernel()])[0].outcome is Outcome.COMPILE_DEADLINE


def test_one_bad_compile_does_not_end_the_others(tmp_path: Path, host: Target) -> None:
    script = "grep -q slow kernel.c && sleep 1000; exit 7"
    limits = BuildLimits(wall_seconds=1.0)
    with LocalBuilder(compiler(tmp_path, script), host.isa, limits=limits) as builder:
        found = builder.build([doubling_kernel("/* slow */"), doubling_kernel(), doubling_kernel()])
    assert [r.outcome for r in found] == [Outcome.COMPILE_DEADLINE, *[Outcome.COMPILE_ERROR] * 2]


TUNER = """
import sys
import tempfile
import numpy as np
from autosched.measure.build import LocalBuilder
from autosched.measure.janitor import fresh_tag
from autosched.measure.pool import pool_library
from autosched.measure.protocol import TimingPolicy
from autosched.measure.runner import LocalRunner
from autosched.target.detect import detect_target
from autosched.target.toolchain import find_toolchain
from autosched.testing.kernels import doubling_check, doubling_kernel
from pathlib import Path

host = detect_target()
toolchain = find_toolchain(host)
tag = fresh_tag()
with LocalBuilder(toolchain, host.isa, tag=tag) as builder:
    artefact = builder.build([doubling_kernel("for (;;) pause();", "int pause(void);")])[0].artefact
    runner = LocalRunner(pool_library(toolchain, Path(sys.argv[1])), np.random.default_rng(0), tag=tag)
    print(tag, flush=True)
    runner.measure(artefact, doubling_check(), TimingPolicy(threads=1, deadline_seconds=600.0))
"""


def test_a_killed_tuner_takes_everything_with_it(library: Path) -> None:
    tuner = subprocess.Popen(
        [sys.executable, "-c", TUNER, str(library.parent)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert tuner.stdout is not None
    tag = tuner.stdout.readline().strip()
    # Two compiler wardens of two processes each, the runner's two, and the kernel.
    until(lambda: len(list(tagged_processes(tag))) >= 3, seconds=10.0)
    tuner.send_signal(signal.SIGKILL)
    tuner.wait()
    until(lambda: not list(tagged_processes(tag)), seconds=10.0)


def test_the_janitor_ends_strays_of_dead_owners_only(tmp_path: Path) -> None:
    owner = subprocess.Popen(["sleep", "0"])
    alive = fresh_tag()
    here = int(alive.split("-")[3])
    dead, elsewhere = (f"autosched-{owner.pid}-1-{space}-0123abcd" for space in (here, here + 1))
    owner.wait()
    for tag in (dead, alive):
        (tmp_path / f"{tag}-folder").mkdir()
    strays = {
        t: subprocess.Popen(["sleep", "1000"], env={"AUTOSCHED_TAG": t, "PATH": os.defpath})
        for t in (dead, alive, elsewhere)
    }
    try:
        assert sweep(tmp_path) >= 2  # a test beside this one may have left strays too
        assert strays[dead].wait(timeout=10) == -signal.SIGKILL
        assert strays[alive].poll() is None
        assert strays[elsewhere].poll() is None, "a container's own janitor knows its processes"
        assert [p.name for p in tmp_path.iterdir()] == [f"{alive}-folder"]
    finally:
        for stray in strays.values():
            stray.kill()
            stray.wait()
