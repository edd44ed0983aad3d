"""`autosched serve` as a process, open and with a client of it, for whatever is to be tried against the whole service."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from autosched.client import Client
from autosched.testing.waiting import until
from tests.api.process import ENVIRONMENT, free_port


@contextmanager
def serving(db: str, folder: Path, *arguments: str) -> Iterator[tuple[psutil.Process, Client]]:
    """The service on simulated devices, open, and a client of it; killed at the end if it still runs."""
    port = free_port()
    log = folder / f"serve-{port}.log"
    command = ["-m", "autosched", "serve", "--port", str(port), "--db", db, *arguments]
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, *command, "--simulate", "0.02"],
            stderr=errors,
            env=ENVIRONMENT,
        )
    try:
        until(lambda: process.poll() is not None or "serving on" in log.read_text(), seconds=60)
        assert process.poll() is None, log.read_text()
        with Client(f"http://127.0.0.1:{port}") as client:
            yield psutil.Process(process.pid), client
    finally:
        process.kill()
        process.wait()


def end_politely(service: psutil.Process) -> None:
    """SIGTERM: it ends well, and so does everything it had started."""
    family = service.children(recursive=True)
    assert len(family) >= 2
    service.send_signal(signal.SIGTERM)
    assert service.wait(timeout=30) == 0
    until(lambda: not any(p.is_running() and p.status() != "zombie" for p in family))
