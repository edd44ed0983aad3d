"""What a worker that was killed leaves on its host is ended by the next one."""

from __future__ import annotations

import psutil
import pytest

from autosched.measure.janitor import VARIABLE
from autosched.testing.waiting import until
from tests.cluster.heads import SECRET, WORKER, start_head, wait_for_head
from tests.cluster.hosts import Host, Network


def tagged(host: Host, tag: str | None = None) -> dict[psutil.Process, str]:
    """The processes of a host that carry a tag, and which."""
    found = {}
    for process in host.processes():
        try:
            carried = process.environ().get(VARIABLE, "")
        except psutil.Error:
            continue
        if carried and tag in (None, carried):
            found[process] = carried
    return found


def raylet_of(host: Host) -> psutil.Process | None:
    """The process that is a host's node to the head."""
    return next((p for p in host.processes() if p.name() == "raylet"), None)


@pytest.mark.campaign
def test_the_node_of_a_killed_worker_is_ended_by_the_next(network: Network) -> None:
    head, host = network.host("head"), network.host("worker")
    start_head(head)
    cluster = wait_for_head(head, host)
    first = host.popen(*WORKER, cluster, env=SECRET, log="first")
    raylet = until(lambda: raylet_of(host), seconds=120)
    assert raylet is not None
    tag = raylet.environ()[VARIABLE]
    assert len(tagged(host, tag)) > 1
    first.kill()
    second = host.popen(*WORKER, cluster, env=SECRET, log="second")
    until(lambda: not tagged(host, tag), seconds=60)
    until(lambda: raylet_of(host), seconds=120)
    assert second.end() == 0
    until(lambda: not tagged(host), seconds=10)
