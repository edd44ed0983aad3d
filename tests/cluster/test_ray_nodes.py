"""Ray runs on test hosts: a head, a driver's node without CPUs and a worker node, told apart and lost one by one."""

from __future__ import annotations

import pytest

from autosched.testing.waiting import until
from tests.cluster.hosts import Network
from tests.cluster.ray_nodes import RayCluster, raylet_of

CALL = """
import os, socket

@ray.remote
class Actor:
    def who(self):
        return socket.gethostname(), os.getpriority(os.PRIO_PROCESS, 0)

actor = Actor.options(num_cpus=1).remote()
answer(ray.get(actor.who.remote()))
"""


@pytest.mark.campaign
def test_a_driver_calls_an_actor_on_another_host(network: Network) -> None:
    head, driver, worker = (network.host(name) for name in ("head", "driver", "worker"))
    ray = RayCluster(head)
    ray.start_head()
    ray.join(driver)
    node = ray.join(worker, cpus=1)
    resources = ray.wait_for(driver, worker)
    assert [resources[h.address].get("CPU", 0) for h in (head, driver, worker)] == [0, 0, 1]
    assert ray.drive(driver, CALL) == ["worker", 0]
    raylet_of(worker).kill()
    assert node.wait() == 1
    until(lambda: not worker.processes())
