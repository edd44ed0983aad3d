"""Kept processes: started again when they end, gone with their supervisor however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autosched.entry.supervise import RestartRules, Supervisor
from autosched.testing.waiting import until

QUICK = RestartRules(first_seconds=0.01, most_seconds=0.05, early_ends=4, grace_seconds=5.0)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def pids(file: Path) -> list[int]:
    """Of every start so far; a line that is still being written does not count."""
    return [int(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []


def stays(file: Path) -> list[str]:
    """A shell that notes itself and a child of its own, and stays."""
    return ["sh", "-c", f"sleep 1000 & echo $$ >> {file}; echo $! >> {file}; wait"]


def test_a_process_that_ends_is_started_again(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    said: list[str] = []
    supervisor = Supervisor({"one": stays(file)}, os.environ, said.append, rules=QUICK)
    running = threading.Thread(target=supervisor.run)
    running.start()
    until(lambda: len(pids(file)) == 2)
    os.kill(pids(file)[0], signal.SIGKILL)
    until(lambda: len(pids(file)) == 4)
    supervisor.stop()
    running.join()
    assert said == ["one ended (signal 9)"]
    until(lambda: not any(map(is_alive, pids(file))))  # what they had started too


def test_a_process_that_others_kill_is_started_again_however_often(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    said: list[str] = []
    kills_itself = ["sh", "-c", f"echo $$ >> {file}; kill -9 $$"]
    supervisor = Supervisor({"one": kills_itself}, os.environ, said.append, rules=QUICK)
    running = threading.Thread(target=supervisor.run)
    running.start()
    until(lambda: len(pids(file)) > 2 * QUICK.early_ends)
    supervisor.stop()
    running.join()
    assert set(said) == {"one ended (signal 9)"}


def test_a_process_that_cannot_run_ends_the_service(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    said: list[str] = []
    commands = {"bad": ["sh", "-c", "exit 3"], "good": stays(file)}
    assert not Supervisor(commands, os.environ, said.append, rules=QUICK).run()
    *ends, last = said
    assert ends == ["bad ended (status 3)"] * 4
    assert last == "bad ended 4 times within 20 s of its start: giving up"
    until(lambda: not any(map(is_alive, pids(file))))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_their_supervisor(tmp_path: Path, number: signal.Signals) -> None:
    file = tmp_path / "pids"
    script = (
        "import os, signal, sys; from autosched.entry.supervise import Supervisor\n"
        "s = Supervisor({'one': ['sh', '-c', f'echo $$ >> {sys.argv[1]}; exec sleep 1000']}, os.environ, print)\n"
        "signal.signal(signal.SIGTERM, lambda *_: s.stop()); s.run()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(file)])
    until(lambda: len(pids(file)) == 1)
    process.send_signal(number)
    assert process.wait() == (0 if number == signal.SIGTERM else -number)
    until(lambda: not is_alive(pids(file)[0]))
