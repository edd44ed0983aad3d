"""Ray runs on test hosts: a head, a driver's node without CPUs and a worker node, told apart and lost one by one."""

from __future__ import annotations

import signal

import pytest

from autosched.testing.waiting import until
from tests.cluster.hosts import Network
from tests.cluster.ports import answering, listeners
from tests.cluster.ray_nodes import RayCluster

CALL = """
import os, socket

@ray.remote
class Actor:
    def who(self):
        return socket.gethostname(), os.getpriority(os.PRIO_PROCESS, 0), sorted(os.sched_getaffinity(0))

actor = Actor.options(num_cpus=1).remote()
answer(ray.get(actor.who.remote()))
"""


@pytest.mark.slow
def test_a_driver_calls_an_actor_on_another_host(network: Network) -> None:
    head, driver, worker = (
        network.host("head"),
        network.host("driver"),
        network.host("worker", cores=(0,)),
    )
    ray = RayCluster(head)
    ray.start_head()
    nodes = [ray.join(driver), ray.join(worker, cpus=1)]
    resources = ray.wait_for(driver, worker)
    assert [resources[h.address].get("CPU", 0) for h in (head, driver, worker)] == [0, 0, 1]
    assert ray.drive(driver, CALL) == ["worker", 0, [0]]
    ports = {x.port for x in listeners(head)}
    assert answering(worker, head.address, ports)
    assert not answering(network.outsider, head.address, ports)
    nodes[1].send(signal.SIGKILL)
    until(lambda: not worker.processes())
