"""A host that only builds may leave, or be gone, while it builds.

pytest -m campaign tests/cluster/test_builders.py   # two minutes
"""

from __future__ import annotations

import pytest

from autosched.jobs.record import Submitted
from autosched.measure.journal import read_lines
from autosched.testing.waiting import until
from tests.cluster.hosts import Network
from tests.cluster.test_service import has_ended
from tests.cluster.world import ClusterWorld, cluster_world
from tests.service.submissions import submit


def begun(world: ClusterWorld, size: int) -> Submitted:
    """A job that runs."""
    job = submit(world.store, size, trials=100)
    until(lambda: any(e["trial"].startswith(job.id) for e in read_lines(world.journal)), seconds=60)
    return job


def check_ends_well(world: ClusterWorld, job: Submitted) -> None:
    """Every trial was run once and closed."""
    until(lambda: has_ended(world, job), seconds=120)
    found = world.store.submitted(job.id)
    assert found is not None
    assert found.job.state == "succeeded", found.error
    assert {e["attempt"] for e in read_lines(world.journal)} == {1}
    rows = [t for t, row in world.rows().items() if not row.is_reused]
    assert sorted(e["trial"] for e in read_lines(world.journal)) == sorted(rows)


@pytest.mark.campaign
def test_a_builder_leaves_under_load(network: Network) -> None:
    with cluster_world(network) as world:
        builder = world.add_builder()
        drained = begun(world, 0)
        builder.run("python", "-m", "autosched", "worker", "--drain", seconds=90)
        check_ends_well(world, drained)
        until(lambda: builder.name in world.alive_workers(), seconds=120)
        bereft = begun(world, 1)
        world.keeper.end_host(builder)
        check_ends_well(world, bereft)
