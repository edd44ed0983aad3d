"""The small parts: channel, ELF reader, endings, lock, replay, calibration as data."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autosched.measure.calibrate import cached_calibration, keep_calibration, memory_levels
from autosched.measure.channel import Channel, ChannelClosed, ChannelTimeout
from autosched.measure.device_lock import DeviceBusy, device_lock
from autosched.measure.elf import NotAnObject, exported_symbols
from autosched.measure.endings import failure_of
from autosched.measure.protocol import TimingPolicy
from autosched.measure.replay import ReplayBuilder, ReplayRunner
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Timing
from autosched.target.calibration import (
    Calibration,
    MemoryLevel,
    ThreadCalibration,
    calibration_text,
    calibration_values,
    least_seconds,
    merge,
    parse_calibration,
    roofline_seconds,
)
from autosched.target.files import load_target, target_names
from autosched.target.target import Target
from autosched.testing.kernels import doubling_check, doubling_kernel


def pair() -> tuple[Channel, Channel]:
    first, second = socket.socketpair()
    return Channel(first), Channel(second)


def test_messages_and_files_arrive_together(tmp_path: Path) -> None:
    ours, theirs = pair()
    path = tmp_path / "x"
    path.write_text("content")
    with path.open() as file:
        ours.send({"a": [1, None, "é"]}, [file.fileno()])
    message, files = theirs.receive(5.0)
    assert message == {"a": [1, None, "é"]}
    assert os.read(files[0], 99) == b"content"
    os.close(files[0])


def test_a_large_message_arrives_whole() -> None:
    ours, theirs = pair()
    text = "x" * 3_000_000
    if os.fork() == 0:
        ours.send({"text": text})
        os._exit(0)
    assert theirs.receive(20.0)[0] == {"text": text}
    os.wait()


def test_silence_garbage_and_the_end_are_told_apart() -> None:
    ours, theirs = pair()
    with pytest.raises(ChannelTimeout):
        theirs.receive(0.01)
    for garbage in (b"\xff\xff\xff\xff", b"\x03\0\0\0abc", b"\x02\0\0\0[]"):
        first, second = socket.socketpair()
        first.sendall(garbage)
        with pytest.raises(ChannelClosed):
            Channel(second).receive(1.0)
    ours.close()
    with pytest.raises(ChannelClosed):
        theirs.receive(1.0)


def test_the_pool_library_exports_what_its_header_says(library: Path, host: Target) -> None:
    symbols = exported_symbols(library.read_bytes(), host.isa)
    assert {"pool_create", "pool_run", "pool_cpus", "pool_destroy"} <= symbols
    assert "worker_main" not in symbols


def test_damaged_objects_are_refused_at_every_cut(library: Path, host: Target) -> None:
    data = library.read_bytes()
    for cut in (0, 3, 63, 100, len(data) // 2, len(data) - 100):
        with pytest.raises(NotAnObject):
            exported_symbols(data[:cut], host.isa)
    other = "aarch64" if host.isa == "x86-64" else "x86-64"
    with pytest.raises(NotAnObject, match="not a shared object for"):
        exported_symbols(data, other)


def ending(**changes: Any) -> dict[str, Any]:
    base = {
        "kind": "exited",
        "status": 0,
        "strays": 0,
        "seconds": 0.1,
        "output": "",
        "note": {"phase": "time"},
    }
    return {**base, "cpus": [0], "fault": None, "result": {}, **changes}


LAYOUT = [["input 0 (x)", 4096, 64], ["output 0 (y)", 65536, 64]]
ENDINGS = [
    (ending(), Outcome.OK, ""),
    (ending(kind="deadline"), Outcome.RUN_DEADLINE, "within 3 s (while it was timed)"),
    (ending(kind="memory"), Outcome.OUT_OF_MEMORY, "memory"),
    (ending(kind="abandoned"), Outcome.LOST, "went away"),
    (ending(result=None), Outcome.CRASHED, "by itself with status 0"),
    (ending(status=5), Outcome.CRASHED, "by itself with status 5"),
    (ending(strays=2), Outcome.CRASHED, "left 2 processes behind"),
    (ending(status=120, result=None, output="MemoryError: x"), Outcome.OUT_OF_MEMORY, "memory"),
    (ending(kind="signalled", status=9, result=None), Outcome.CRASHED, "SIGKILL"),
    (
        ending(kind="signalled", status=11, result=None, fault=[11, 0, 12]),
        Outcome.OUT_OF_MEMORY,
        "memory",
    ),
    (
        ending(kind="signalled", status=11, result=None, fault=[11, 0, 0]),
        Outcome.CRASHED,
        "address 0x0",
    ),
    (
        ending(
            kind="signalled",
            status=11,
            fault=[11, 65604, 0],
            note={"phase": "check", "layout": LAYOUT},
        ),
        Outcome.CRASHED,
        "4 bytes past the end of output 0 (y)",
    ),
    (
        ending(
            kind="signalled",
            status=11,
            fault=[11, 4092, 0],
            note={"phase": "check", "layout": LAYOUT},
        ),
        Outcome.CRASHED,
        "4 bytes before the start of input 0 (x)",
    ),
]


@pytest.mark.parametrize(("answer", "outcome", "says"), ENDINGS)
def test_every_ending_has_its_outcome(answer: dict[str, Any], outcome: Outcome, says: str) -> None:
    found, error = failure_of(answer, 3.0)
    assert found is outcome
    assert says in error


def test_a_device_is_held_by_one(tmp_path: Path) -> None:
    waits: list[str] = []
    with (
        device_lock("cpu", folder=tmp_path),
        device_lock("cuda0", folder=tmp_path),
        pytest.raises(DeviceBusy, match=f"device cpu is held by process {os.getpid()}"),
        device_lock("cpu", folder=tmp_path, wait_seconds=0.0, on_wait=waits.append),
    ):
        pass
    assert len(waits) == 1
    with device_lock("cpu", folder=tmp_path, wait_seconds=0.0):
        pass
    with pytest.raises(ValueError, match=r"\.\./x"):
        device_lock("../x", folder=tmp_path).__enter__()


HOLDER = "import sys; from pathlib import Path; from autosched.measure.device_lock import device_lock\nwith device_lock('cpu', folder=Path(sys.argv[1])): print(1, flush=True); sys.stdin.read()"


def test_a_killed_holder_frees_the_device(tmp_path: Path) -> None:
    path = os.pathsep.join(p for p in sys.path if p)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    with (
        pytest.raises(DeviceBusy, match=str(holder.pid)),
        device_lock("cpu", folder=tmp_path, wait_seconds=0.0),
    ):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with device_lock("cpu", folder=tmp_path, wait_seconds=5.0):
        pass


def test_replay_gives_back_what_was_recorded_and_nothing_else() -> None:
    good, broken, new = doubling_kernel(), doubling_kernel("broken"), doubling_kernel("new")
    timing = Timing(1e-3, 0.0, 5, 0.0, 1)
    recorded = {
        good.digest: Measurement(Outcome.OK, timing),
        broken.digest: Measurement(Outcome.COMPILE_ERROR, error="no"),
    }
    builds = ReplayBuilder(recorded).build([good, broken, new])
    assert [b.outcome for b in builds] == [Outcome.OK, Outcome.COMPILE_ERROR, Outcome.OK]
    artefacts = [b.artefact for b in builds if b.artefact]
    runner, check, policy = ReplayRunner(recorded), doubling_check(), TimingPolicy(1)
    assert [runner.measure(a, check, policy).outcome for a in artefacts] == [
        Outcome.OK,
        Outcome.LOST,
    ]
    assert runner.side_by_side(artefacts, check.sets[0], policy) == [timing, None]


def entry(threads: int, peak: float, l1: float) -> ThreadCalibration:
    levels = (MemoryLevel("L1", 1000, l1), MemoryLevel("DRAM", 1 << 62, l1 / 10))
    return ThreadCalibration(threads, peak, levels)


def test_the_roofline_takes_the_larger_bound() -> None:
    calibration = Calibration((entry(1, 100.0, 50.0), entry(2, 200.0, 100.0)))
    assert roofline_seconds(1000, 10, calibration, 1) == 10.0
    assert roofline_seconds(1000, 10, calibration, 2) == 5.0
    assert roofline_seconds(1, 500, calibration, 1) == 10.0
    assert roofline_seconds(1, 5000, calibration, 1) == 1000.0
    assert roofline_seconds(1000, 1, calibration, 4) == 2.5
    assert least_seconds(1000, 1, 4, calibration, 1) == pytest.approx(10 / 1.15)
    assert least_seconds(1000, 1, 1, calibration, 1) == pytest.approx(2.5 / 1.15)


def test_the_best_value_of_each_kind_is_kept(tmp_path: Path) -> None:
    first, second = (
        Calibration((entry(1, 100.0, 50.0),)),
        Calibration((entry(1, 90.0, 60.0), entry(2, 1.0, 1.0))),
    )
    merged = merge(first, second)
    assert merged == Calibration((entry(1, 100.0, 60.0), entry(2, 1.0, 1.0)))
    assert parse_calibration(calibration_text(merged)) == merged
    assert calibration_values(merged)["bytes_per_second.L1.1"] == 60.0
    target = load_target("znver3")
    assert cached_calibration(tmp_path, target, lambda: first) == first
    assert cached_calibration(tmp_path, target, lambda: second) == first
    assert keep_calibration(tmp_path, target, second) == merged


def test_a_damaged_calibration_file_is_measured_anew(tmp_path: Path) -> None:
    target, fresh = load_target("znver3"), Calibration((entry(1, 100.0, 50.0),))
    cached_calibration(tmp_path, target, lambda: fresh)
    next(tmp_path.iterdir()).write_text('{"entries": [{"threads"')
    assert cached_calibration(tmp_path, target, lambda: fresh) == fresh


@pytest.mark.parametrize("name", target_names())
@pytest.mark.parametrize("threads", [1, 64])
def test_memory_levels_grow_and_are_measured_inside_themselves(name: str, threads: int) -> None:
    levels = memory_levels(load_target(name), threads)
    holds = [h for _, h, _ in levels]
    assert holds == sorted(set(holds))
    before = 0
    for _, hold, used in levels:
        assert before < used <= hold
        before = hold
