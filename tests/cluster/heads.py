"""A head and those who are to join it, without the rest of a service."""

from __future__ import annotations

from autosched_workers.cluster.node import TOKEN

from autosched.testing.waiting import until
from tests.cluster.hosts import Host
from tests.cluster.ports import answering
from tests.cluster.process import Running

PORT = 6379
SECRET = {TOKEN: "1f" * 32}
CLUSTER = ("python", "-m", "autosched_workers.cluster")
WORKER = ("python", "-m", "autosched", "worker", "--simulate=1")


def start_head(host: Host, *, is_open: bool = False) -> Running:
    """On its way up; open to everybody or with `SECRET`."""
    head = (*CLUSTER, "head", f"--node-ip={host.address}", f"--port={PORT}")
    if is_open:
        return host.popen(*head, "--insecure", log="head")
    return host.popen(*head, env=SECRET, log="head")


def wait_for_head(head: Host, asking: Host) -> str:
    """The argument by which a program is told of it, once it answers."""
    until(lambda: answering(asking, head.address, [PORT]), seconds=120, pause=0.2)
    return f"--cluster={head.address}:{PORT}"
