"""What Ray costs: one job on one host, by its own dispatcher and through a cluster, in turns.

pytest -s -m campaign tests/cluster/test_overhead.py   # 10 minutes on two cores that nobody else uses

The search is the random one, which proposes the same candidates whatever was measured before: both ways do the same
work, and no time of a search makes the part of Ray look smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from autosched.db.store import SqlTuningStore, connect
from autosched.jobs.workers import Worker
from autosched.measure.journal import read_lines
from autosched.testing.waiting import until
from tests.cluster.database import database_on
from tests.cluster.hosts import Network, new_network
from tests.cluster.keeping import Keeper, Program
from tests.cluster.real_jobs import submit_to, wait_for_end
from tests.cluster.world import ClusterSettings, cluster_world

SOURCE, TRIALS = "onnx:light_squeezenet", 108
REPEATS = 2
MOST_OVERHEAD = 0.15


@dataclass(frozen=True)
class Service:
    """Its database, and the journal of its only device."""

    store: SqlTuningStore
    journal: Path


@contextmanager
def alone(network: Network) -> Iterator[Service]:
    """A dispatcher with devices of its own host."""
    with database_on(network.host("database")) as database:
        store, keeper = connect(database.near), Keeper()
        journal = network.shared / "journal"
        command = ("python", "-m", "autosched_workers", "--journal", str(journal))
        environment = {"AUTOSCHED_DB": database.far}
        try:
            keeper.keep(Program("dispatcher", network.host("worker0"), command, environment))
            yield Service(store, journal)
        finally:
            keeper.stop()
            store.close_connections()


@contextmanager
def through_ray(network: Network) -> Iterator[Service]:
    with cluster_world(network, ClusterSettings(workers=1, seconds=None)) as world:
        yield Service(world.store, world.journal)


WAYS: Mapping[str, Callable[[Network], AbstractContextManager[Service]]] = {
    "local": alone,
    "ray": through_ray,
}


@dataclass(frozen=True)
class Spent:
    """Of one job: seconds from its first proposal to its end, and of them those in which a kernel's process ran; trials
    with their defaults; where the time went."""

    wall_seconds: float
    run_seconds: float
    trials: int
    phase_seconds: Mapping[str, float]

    @property
    def trial_seconds(self) -> float:
        return self.wall_seconds / self.trials

    @property
    def beside_seconds(self) -> float:
        """Of the phase of runs, a trial: what the way to the device and back takes, and the database."""
        return (self.phase_seconds["run"] - self.run_seconds) / self.trials


def the_worker(store: SqlTuningStore) -> Worker:
    """The only one, once it is there."""
    (worker,) = until(lambda: store.workers(alive_only=True), seconds=120)
    return worker


def spent_on_job(service: Service) -> Spent:
    """A short job first, so that compilers, calibration and programs are where they are to be."""
    store = service.store
    worker = the_worker(store)
    short = submit_to(store, worker, "suite:GMM/1@1", trials=8, policy="random")
    wait_for_end(store, short, seconds=300)
    before = len(read_lines(service.journal))
    job = submit_to(store, worker, SOURCE, trials=TRIALS, policy="random")
    wait_for_end(store, job, seconds=1200)
    query = text(
        "select min(t.proposed_at), j.ended_at, count(*) from trials t"
        " join tasks k on k.id = t.task_id join jobs j on j.id = k.job_id"
        " where j.id = :job group by j.ended_at"
    )
    with store.engine.connect() as connection:
        begun, ended, n = connection.execute(query, {"job": job.id}).one()
    wall: timedelta = ended - begun
    ran = sum(e["ended"] - e["begun"] for e in read_lines(service.journal)[before:])
    return Spent(wall.total_seconds(), ran, n, phases(store, job.id))


def phases(store: SqlTuningStore, job_id: str) -> dict[str, float]:
    """Seconds of each phase, as the job's process counted them."""
    said: list[dict[str, Any]] = [dict(e.data) for e in store.events(job_id, after=0)]
    found = [d["phase_s"] for d in said if d.get("phase_s")]
    return {name: float(seconds) for name, seconds in found[-1].items()}


def say(way: str, spent: Spent) -> None:
    where = ", ".join(f"{name} {seconds:.1f}" for name, seconds in spent.phase_seconds.items())
    print(
        f"{way:5s} {1e3 * spent.trial_seconds:7.1f} ms a trial: {spent.wall_seconds:.1f} s,"
        f" {spent.trials} trials ({where}); {1e3 * spent.beside_seconds:.1f} ms beside each run",
        flush=True,
    )


@pytest.mark.campaign
def test_ray_costs_little_beside_the_trials(namespaces_work: None) -> None:
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(REPEATS):
        for way, opened in WAYS.items():
            with new_network() as network, opened(network) as service:
                spent = spent_on_job(service)
            say(way, spent)
            found[way].append(spent.trial_seconds)
    ratio = sum(found["ray"]) / sum(found["local"])
    pairs = [f"{r / o:.3f}" for o, r in zip(found["local"], found["ray"], strict=True)]
    print(f"Ray against local: {ratio:.3f} (pair by pair {', '.join(pairs)})", flush=True)
    assert ratio <= 1 + MOST_OVERHEAD
