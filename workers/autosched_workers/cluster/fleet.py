"""The hosts of a cluster as a dispatcher's fleet (see `autosched_workers.fleet`), through a bridge that may die.

While there is no bridge, what is known of hosts stands: jobs wait for it, and lose no more than what was under way. A
host that a new bridge has not met again within `MEET_AGAIN_SECONDS` is gone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

from autosched.entry.service_log import Log
from autosched.errors import InvalidInput
from autosched.jobs.record import SetupKey
from autosched.jobs.workers import DRIVER, Worker
from autosched.target.calibration import calibration_values, parse_calibration
from autosched.target.files import target_of_fields
from autosched.target.toolchain import toolchain_of_fields
from autosched_workers.cluster.calls import fresh_address
from autosched_workers.cluster.lab import ClusterLab
from autosched_workers.cluster.node import Member
from autosched_workers.cluster.pauses import Pauses
from autosched_workers.cluster.said import Said
from autosched_workers.fleet import Draining, Joined, Left, News
from autosched_workers.lab import Lab, Offer

MEET_AGAIN_SECONDS = 60.0


@dataclass(eq=False)
class _Running:
    """`said`: what it printed beside its news, for logs are JSON."""

    process: subprocess.Popen[bytes]
    said: Said
    started_at: float
    heard: bytes = b""


class ClusterFleet:
    """Starts a bridge and keeps one running."""

    def __init__(self, member: Member, log: Log) -> None:
        self._member = member
        self._log = log
        self._folder = tempfile.mkdtemp(prefix="autosched-bridge-")
        self._address = fresh_address(self._folder)
        self.lab: Lab = ClusterLab(self._address)
        self._bridge: _Running | None = None
        self._restart_at = 0.0
        self._pauses = Pauses()
        self._known: dict[str, str] = {}
        self._not_met: dict[str, float] = {}
        """Workers by name -> host; and of those that the present bridge has not met, when they count as gone."""

    def files(self) -> Sequence[int]:
        return () if self._bridge is None else (_out(self._bridge).fileno(),)

    def news(self) -> Sequence[News]:
        now = time.monotonic()
        if self._bridge is None:
            if now >= self._restart_at:
                self._start(now)
            return self._overdue(now)
        said = self._read(self._bridge)
        found = [item for message in said for item in self._heard(message)]
        if self._bridge.process.poll() is not None:
            self._ended(self._bridge, now)
        return [*found, *self._overdue(now)]

    def release(self, worker_id: str) -> None:
        if self._bridge is not None:
            _tell(self._bridge, {"say": "release", "worker": worker_id})

    def close(self) -> None:
        if self._bridge is not None:
            self._bridge.process.kill()
            self._bridge.process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, now: float) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._address.path)
        said = Said()
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "autosched_workers.cluster", "bridge"),
                *(f"--cluster={self._member.head}", f"--node-ip={self._member.node_ip}"),
                *(["--insecure"] if self._member.is_insecure else []),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said.file,
            env={**os.environ, **self._member.environment()},
        )
        self._bridge = _Running(process, said, now)
        os.set_blocking(_out(self._bridge).fileno(), False)
        _tell(self._bridge, {"path": self._address.path, "secret": self._address.secret.hex()})
        self._log.info("bridge_started", pid=process.pid)

    def _ended(self, bridge: _Running, now: float) -> None:
        self._log.warning("bridge_ended", status=bridge.process.returncode, why=bridge.said.error())
        self._restart_at = now + self._pauses.after(now - bridge.started_at)
        self._bridge = None
        self._not_met = dict.fromkeys(self._known, now + MEET_AGAIN_SECONDS)

    def _read(self, bridge: _Running) -> list[Mapping[str, Any]]:
        with contextlib.suppress(BlockingIOError):
            while part := os.read(_out(bridge).fileno(), 1 << 16):
                bridge.heard += part
        *lines, bridge.heard = bridge.heard.split(b"\n")
        return [json.loads(line) for line in lines]

    def _heard(self, message: Mapping[str, Any]) -> list[News]:
        worker_id = message["worker"]
        match message["say"]:
            case "joined":
                return self._joined(message)
            case "refused":
                self._log.warning("host_refused", worker=worker_id, why=message["why"])
            case "draining":
                return [Draining(worker_id)]
            case "left" if worker_id in self._known:
                return self._left([worker_id])
        return []

    def _joined(self, message: Mapping[str, Any]) -> list[News]:
        """A host that comes again under another name is no longer there under the old one."""
        worker, setups = described(message)
        earlier = [w for w, host in self._known.items() if host == worker.host and w != worker.id]
        self._known[worker.id] = worker.host
        self._not_met.pop(worker.id, None)
        measured = [parse_calibration(text) for text in message["calibrations"].values()]
        joined = Joined(worker, setups, [calibration_values(c) for c in measured])
        return [*self._left(earlier), joined]

    def _left(self, worker_ids: Sequence[str]) -> list[News]:
        for worker_id in worker_ids:
            del self._known[worker_id]
            self._not_met.pop(worker_id, None)
        return [Left(w) for w in worker_ids]

    def _overdue(self, now: float) -> list[News]:
        return self._left([w for w, at in self._not_met.items() if at <= now])


def described(message: Mapping[str, Any]) -> tuple[Worker, frozenset[SetupKey]]:
    """A worker as its host describes itself; with a problem it has a place among the workers, and serves nothing."""
    driver = message.get("driver")
    versions = message["versions"] | ({} if driver is None else {DRIVER: driver})
    try:
        target = target_of_fields(message["target"], f"host {message['host']}")
        toolchain = toolchain_of_fields(message["toolchain"])
    except (InvalidInput, LookupError):
        if not message["problem"]:
            raise
        return _strange(message, versions), frozenset()
    offer = Offer(target, toolchain, tuple(message["devices"]))
    worker = offer.worker(message["worker"], message["host"], versions)
    if message["problem"]:
        return replace(worker, state="quarantined", note=message["problem"]), frozenset()
    return worker, offer.setups()


def _strange(message: Mapping[str, Any], versions: Mapping[str, str]) -> Worker:
    """A worker of another version, whose words for a machine we do not know: as it says, under keys of its own."""
    target, toolchain = message["target"], message["toolchain"]
    return Worker(
        id=message["worker"],
        host=message["host"],
        target_key=_key_of(target),
        target=target,
        max_threads=target.get("threads", 1),
        toolchain_key=_key_of(toolchain),
        toolchain=toolchain,
        devices=tuple(message["devices"]),
        versions=versions,
        state="quarantined",
        note=message["problem"],
    )


def _key_of(fields: Mapping[str, Any]) -> str:
    text = json.dumps(fields, sort_keys=True)
    return f"strange-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _out(bridge: _Running) -> IO[bytes]:
    assert bridge.process.stdout is not None
    return bridge.process.stdout


def _tell(bridge: _Running, message: Mapping[str, Any]) -> None:
    """One that has ended hears nothing; its end is seen by itself."""
    assert bridge.process.stdin is not None
    with contextlib.suppress(OSError):
        bridge.process.stdin.write(json.dumps(message).encode() + b"\n")
        bridge.process.stdin.flush()
