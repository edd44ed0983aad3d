"""The service as a process of its own, for what only a real server does: streams, signals, connections."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from autosched.testing.waiting import until

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(str(ROOT / root) for root in ("", "api", "workers")),
}
"""Of programs of this working copy, wherever they run."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@dataclass
class Process:
    """A running service; `log` is what it wrote."""

    port: int
    child: subprocess.Popen[bytes]
    log_file: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(x) for x in self.log_file.read_text().splitlines() if x[:1] == "{"]

    @property
    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.child.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def is_ready(self) -> bool:
        if self.child.poll() is not None:
            raise AssertionError(f"the service ended:\n{self.log_file.read_text()[-2000:]}")
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5.0).status_code == 200
        except httpx.TransportError:
            return False

    def end(self, seconds: float = 20.0) -> int:
        """SIGTERM, and the exit status."""
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(seconds)


@contextmanager
def running(db: str, folder: Path, *arguments: str) -> Iterator[Process]:
    """A service on a database, ended with the block."""
    port, log_file = free_port(), folder / "api.log"
    command = [sys.executable, "-m", "autosched_api", "--port", str(port), *arguments]
    environment = {**ENVIRONMENT, "AUTOSCHED_DB": db}
    with log_file.open("wb") as log:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=folder
        )
    process = Process(port, child, log_file)
    try:
        until(process.is_ready, seconds=60)
        yield process
    finally:
        child.kill()
        child.wait()
