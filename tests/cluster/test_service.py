"""A service on several hosts: work goes to all of them, only the API is reached from outside, a worker leaves politely,
and nothing is lost whatever is killed."""

from __future__ import annotations

import os
import random

import pytest

from autosched.jobs.record import Page, Submitted
from autosched.measure.journal import read_lines
from autosched.testing.waiting import until
from tests.cluster.compose import checks
from tests.cluster.failures import FAILURES
from tests.cluster.hosts import OUTSIDE, Network
from tests.cluster.ports import answering, listeners
from tests.cluster.rounds import broken
from tests.cluster.skew import check_skew
from tests.cluster.world import API_PORT, ClusterSettings, ClusterWorld, cluster_world
from tests.service.submissions import submit


def has_ended(world: ClusterWorld, job: Submitted) -> bool:
    found = world.store.submitted(job.id)
    assert found is not None
    return found.is_terminal


def check_rows_name_their_devices(world: ClusterWorld, job: Submitted) -> None:
    """Target and toolchain are the job's, and what ran says where, as the journal does."""
    ran_on = {e["trial"]: e["device"] for e in read_lines(world.journal)}
    rows = world.store.list_trials(job.id, Page(limit=500))
    assert rows
    for row in rows:
        assert row.measurement is not None
        if not row.reused_from:
            assert row.measurement.device == ran_on[row.id]


def check_actors(world: ClusterWorld) -> None:
    """They measure at the priority of any other program: left to itself, Ray starts them as the least of all."""
    for host in world.workers:
        actors = world.processes(host, "ray::Bench", "ray::Forge", "ray::Host")
        assert [p.nice() for p in actors] == [0, 0, 0]


def check_ports(world: ClusterWorld) -> None:
    """Everything that listens anywhere is tried from the outer switch; the API alone answers."""
    outsider = world.network.outsider
    for host in world.network.hosts.values():
        if host is outsider:
            continue
        ports = {found.port for found in listeners(host)}
        reached = host.address_on(OUTSIDE) if OUTSIDE in host.switches else host.address
        wanted = {API_PORT} if host is world.coordinator else set()
        assert answering(outsider, reached, sorted(ports | {API_PORT})) == wanted


def check_drain(world: ClusterWorld) -> None:
    """Each worker leaves under load, comes again, and not one run came to nothing."""
    leaving, job = world.workers[0], submit(world.store, next(world.sizes), trials=100)
    until(lambda: any(e["trial"].startswith(job.id) for e in read_lines(world.journal)), seconds=60)
    leaving.run("python", "-m", "autosched", "worker", "--drain", seconds=90)
    other = world.keeper.process(world.workers[1].name)
    assert other is not None
    assert other.end(seconds=90) == 0, "by SIGTERM, which a container engine sends"
    until(lambda: has_ended(world, job), seconds=120)
    world.wait_for_workers()
    ran_on = {e["device"] for e in read_lines(world.journal) if e["trial"].startswith(job.id)}
    assert ran_on == {f"{w.name}/simulated0" for w in world.workers}, "a job alone uses all"
    assert {e["attempt"] for e in read_lines(world.journal)} == {1}
    ran = [t for t, row in world.rows().items() if not row.is_reused]
    assert sorted(e["trial"] for e in read_lines(world.journal)) == sorted(ran)


def check_health(world: ClusterWorld) -> None:
    """By the very commands of the compose file, each where its service runs."""
    database = world.database
    programs = {"PATH": f"{database.server.programs}:{os.environ['PATH']}"}
    places = {"api": world.coordinator, "head": world.head, "database": database.host}
    assert places.keys() == checks().keys()
    for service, command in checks().items():
        told = {**programs, "PGHOST": database.host.address} if service == "database" else None
        places[service].run(*command, env=told)


def check_jobs(world: ClusterWorld) -> None:
    jobs = [submit(world.store, next(world.sizes), trials=40) for _ in world.workers]
    until(lambda: all(has_ended(world, job) for job in jobs), seconds=120)
    for job in jobs:
        check_rows_name_their_devices(world, job)
    used = {e["device"] for e in read_lines(world.journal)}
    assert used == {f"{w.name}/simulated0" for w in world.workers}


def check_failures(world: ClusterWorld) -> None:
    """Each kind once."""
    names = list(FAILURES)
    assert list(broken(world, names, random.Random(1), cut_seconds=15.0)) == names


@pytest.mark.slow
def test_a_service_on_several_hosts(network: Network) -> None:
    """In one world, for starting one takes as long as what is shown."""
    with cluster_world(network, ClusterSettings(lease_seconds=30.0)) as world:
        check_jobs(world)
        check_actors(world)
        check_health(world)
        check_ports(world)
        check_drain(world)
        check_failures(world)
        check_skew(world)
