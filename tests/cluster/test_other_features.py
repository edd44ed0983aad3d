"""A host without AVX2 in a cluster whose other hosts have it: what it runs, where its results go, what is found for it.

pytest -m campaign tests/cluster/test_other_features.py   # some minutes
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autosched.measure.journal import objects_folder, read_lines
from autosched.testing.waiting import until
from tests.cluster.caller import Caller, new_caller
from tests.cluster.cpuinfo import features_of, masked_cpuinfo
from tests.cluster.hosts import Host, Network
from tests.cluster.instructions import beyond, instructions
from tests.cluster.world import ClusterSettings, ClusterWorld, cluster_world

SOURCE = "suite:GMM/1@1"
OTHER_KIND = "graviton3"
JOB_SECONDS = 900.0


@dataclass(frozen=True)
class TwoKinds:
    """A cluster of a host as its machine is and one without AVX2, with their targets."""

    world: ClusterWorld
    caller: Caller
    plain: str
    masked: str

    def tune(self, target: str, **how: Any) -> dict[str, Any]:
        job = self.caller.tune(SOURCE, target=target, seconds=JOB_SECONDS, **how)
        assert job["target_key"] == target
        return job

    def newer_instructions(self, job: dict[str, Any], host: Host) -> set[str]:
        """What needs AVX2 or more of all that was sent to a host, which ran all of a job."""
        noted = [e for e in read_lines(self.world.journal) if e["device"] == f"{host.name}/cpu"]
        assert any(e.get("run", "").startswith(job["id"]) for e in noted)
        sent = {o for e in noted for o in e["objects"]}
        folder = objects_folder(self.world.journal)
        return beyond(set().union(*(instructions(folder / o) for o in sent)))


@contextmanager
def two_kinds(network: Network) -> Iterator[TwoKinds]:
    settings = ClusterSettings(
        seconds=None,
        cores=[(0,), (1,)],
        cpuinfo=[None, masked_cpuinfo(network.shared)],
        joining_seconds=300.0,
    )
    with cluster_world(network, settings) as world:
        caller = new_caller(world)
        (page,) = caller.ask(("workers", {}))
        keys = {w["host"]: w["target_key"] for w in page["items"]}
        yield TwoKinds(world, caller, *(keys[host.name] for host in world.workers))


def check_lookups(kinds: TwoKinds, job: dict[str, Any], host: Host, other: dict[str, Any]) -> None:
    """Over the API and by the host's own look into the database: its exact answer is of its own job."""
    workload = job["tasks"][0]["workload_key"]
    (served,) = kinds.caller.ask(("best", {"workload": workload, "target": job["target_key"]}))
    words = ("python", "-m", "autosched", "best", SOURCE, "--json", "--db")
    (found,) = json.loads(host.run(*words, kinds.world.database.far).stdout)["tasks"]
    for answer in (served, found):
        assert answer["match"] == "exact", answer
        assert answer["trial"].startswith(job["id"])
        assert not answer["trial"].startswith(other["id"])


def check_untuned(kinds: TwoKinds, job: dict[str, Any], target: str, host: Host) -> None:
    """Nothing is exact for a target while another alone has been tuned."""
    workload = job["tasks"][0]["workload_key"]
    (served,) = kinds.caller.ask(("best", {"workload": workload, "target": target}))
    words = ("python", "-m", "autosched", "best", SOURCE, "--json", "--db")
    (found,) = json.loads(host.run(*words, kinds.world.database.far).stdout)["tasks"]
    assert served.get("match") != "exact"
    assert found["match"] != "exact"


def add_builder(world: ClusterWorld) -> Path:
    """A host like its machine that compiles for the others; the log of what its compiler is asked."""
    log, compiler = world.network.shared / "compiled", world.network.shared / "gcc"
    real = shutil.which("gcc") or ""
    compiler.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {shlex.quote(real)} "$@"\n')
    compiler.chmod(0o755)
    world.add_builder("--compiler", str(compiler))
    return log


def check_cross_building(kinds: TwoKinds) -> None:
    """What another host compiles for the one without AVX2 has none either."""
    log = add_builder(kinds.world)
    job = kinds.tune(kinds.masked, trials=16, seed=1)
    compiled = [line for line in log.read_text().splitlines() if " -shared" in line]
    assert compiled
    assert not [line for line in compiled if "-mavx2" in line or "native" in line]
    assert not kinds.newer_instructions(job, kinds.world.workers[1])


def check_refusals(kinds: TwoKinds) -> None:
    """A target that nobody ever had is refused, one that is away is waited for; both say what is missing."""
    ask = {"source": SOURCE, "trials": 8}
    (refused,) = kinds.caller.ask(("submit", {**ask, "target": OTHER_KIND}))
    assert "no worker ever had" in refused["refused"]
    assert "isa: need " in refused["refused"]
    away = kinds.world.workers[1]
    kinds.world.keeper.end_host(away)
    until(lambda: away.name not in kinds.world.alive_workers(), seconds=120)
    (waiting,) = kinds.caller.ask(("submit", {**ask, "target": kinds.masked, "seed": 2}))
    assert waiting["state"] == "queued"
    assert f"need target {kinds.masked}, have {kinds.plain}" in waiting["pending_reason"]
    assert "features: need nothing more, have " in waiting["pending_reason"]


@pytest.mark.campaign
def test_a_host_without_avx2(network: Network) -> None:
    if "avx2" not in features_of(Path("/proc/cpuinfo").read_text()):
        pytest.skip("this machine has no AVX2 to mask")
    with two_kinds(network) as kinds:
        plain, masked = kinds.world.workers
        assert kinds.plain != kinds.masked
        first = kinds.tune(kinds.plain, trials=16)
        check_untuned(kinds, first, kinds.masked, masked)
        second = kinds.tune(kinds.masked, trials=16)
        check_lookups(kinds, first, plain, second)
        check_lookups(kinds, second, masked, first)
        for trial in kinds.caller.trials(second["id"]):
            assert trial["target_key"] == kinds.masked
            assert trial["device"] in ("", f"{masked.name}/cpu")
        assert kinds.newer_instructions(first, plain), "the judge sees them where they are"
        assert not kinds.newer_instructions(second, masked)
        check_cross_building(kinds)
        check_refusals(kinds)
