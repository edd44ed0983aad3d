"""Ray on test hosts: a head, and nodes that join it, each a process of its host that this test may end.

Nodes and drivers share one token and the settings by which a dead node is noticed within ten seconds. A node is ready
when the head says so. `ray stop` is never called: it ends processes by their names.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from autosched.testing.waiting import until
from tests.cluster.hosts import HOME, Host
from tests.cluster.ports import answering
from tests.cluster.process import Running

RAY = str(Path(sys.executable).with_name("ray"))
PORT = 6379
STORE_BYTES = 100_000_000
SETTINGS = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "15",
    "RAY_worker_niceness": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}

DRIVER = """
import json, sys, time, ray
place, address, own, *arguments = sys.argv[1:]
ray.init(address=address, _node_ip_address=own, log_to_driver=False, logging_level="error")
def answer(value):
    with open(place, "w") as file:
        json.dump(value, file)
"""
"""What drivers begin with. Ray writes to standard output too, so that an answer goes into a file."""

ALIVE = """
seconds, *wanted = arguments
deadline = time.monotonic() + float(seconds)
while True:
    alive = {n["NodeManagerAddress"]: n["Resources"] for n in ray.nodes() if n["Alive"]}
    if set(wanted) <= set(alive) or time.monotonic() > deadline:
        break
    time.sleep(0.1)
answer(alive)
"""


@dataclass(frozen=True)
class RayCluster:
    """A head on `head`, once it is started, and who joins it."""

    head: Host
    token: str = field(default_factory=lambda: secrets.token_hex(32))

    @property
    def address(self) -> str:
        return f"{self.head.address}:{PORT}"

    @property
    def environment(self) -> dict[str, str]:
        """Of every node and driver."""
        return {**SETTINGS, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token}

    def start_head(self, *, seconds: float = 60.0) -> Running:
        """Starts the head, with its zero-CPU node, and waits until nodes can join: one that asks in vain gives up."""
        role = ("--head", f"--port={PORT}", "--include-dashboard=false", "--no-monitor")
        head = self._start(self.head, role, cpus=0, resources={})
        until(lambda: answering(self.head, self.head.address, [PORT]), seconds=seconds, pause=0.2)
        return head

    def join(
        self, host: Host, *, cpus: int = 0, resources: Mapping[str, float] | None = None
    ) -> Running:
        """Starts a node that joins the head: with no CPU for a host where only a driver runs. It is not ready yet."""
        return self._start(host, (f"--address={self.address}",), cpus, resources or {})

    def _start(
        self, host: Host, role: tuple[str, ...], cpus: int, resources: Mapping[str, float]
    ) -> Running:
        return host.popen(
            *(RAY, "start", "--block", *role, f"--node-ip-address={host.address}"),
            *(f"--num-cpus={cpus}", f"--object-store-memory={STORE_BYTES}"),
            *(f"--resources={json.dumps(dict(resources))}", "--include-log-monitor=false"),
            env=self.environment,
            log="ray",
        )

    def wait_for(self, *hosts: Host, seconds: float = 90.0) -> dict[str, dict[str, float]]:
        """Waits until the head says that the nodes of these hosts are alive; resources of all nodes by address."""
        wanted = {self.head.address, *(h.address for h in hosts)}
        found = self.drive(self.head, ALIVE, str(seconds), *wanted, seconds=seconds + 60.0)
        if not wanted <= set(found):
            logs = "\n".join((h.folder / "logs" / "ray").read_text()[-1500:] for h in hosts)
            raise AssertionError(f"{wanted - set(found)} not alive within {seconds:.0f} s:\n{logs}")
        return dict(found)

    def drive(self, host: Host, script: str, *arguments: str, seconds: float = 120.0) -> Any:
        """Runs a driver on a host with a node: a script that has `ray`, its `arguments` and a function `answer`. What it
        gave to that, through JSON."""
        told = (f"{HOME}/answer", self.address, host.address, *arguments)
        command = (sys.executable, "-c", DRIVER + script, *told)
        host.run(*command, env=self.environment, seconds=seconds)
        return json.loads((host.folder / "tmp/home/answer").read_text())


def raylet_of(host: Host) -> psutil.Process:
    """The process that is a host's node to the head; `ray start` ends soon after it, and takes the rest along."""
    return next(p for p in host.processes() if p.name() == "raylet")
