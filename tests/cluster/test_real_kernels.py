"""A model is tuned by real kernels on several hosts, as somebody outside asks for it.

pytest -m campaign tests/cluster/test_real_kernels.py   # some minutes
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from autosched.measure.journal import read_lines
from tests.cluster.caller import Caller, new_caller
from tests.cluster.hosts import Network
from tests.cluster.world import ClusterSettings, ClusterWorld, cluster_world

REAL = ClusterSettings(seconds=None, cores=[(0,), (1,)], joining_seconds=300.0)
RAN = {"ok", "unstable", "wrong_result", "crashed", "run_deadline"}
JOB_SECONDS = 1500.0


def check_trials_say_where(caller: Caller, job: dict[str, Any], world: ClusterWorld) -> None:
    """Every row that ran names worker and device, target and toolchain; both workers ran some, as their journal says."""
    ran = [t for t in caller.trials(job["id"]) if t["outcome"] in RAN and not t["reused_from"]]
    devices = {f"{host.name}/cpu" for host in world.workers}
    for trial in ran:
        assert trial["device"] in devices
        assert trial["target_key"] == job["target_key"]
        assert trial["toolchain"]["key"] == job["toolchain_key"]
        assert trial["toolchain"]["version"]
        assert {"isa", "features", "threads"} <= trial["target"].keys()
    noted = {e["device"] for e in read_lines(world.journal)}
    assert {t["device"] for t in ran} == noted == devices
    print(job["trials"], "trials,", Counter(t["device"] for t in ran), flush=True)


@pytest.mark.campaign
def test_a_model_is_tuned_over_both_workers(network: Network) -> None:
    with cluster_world(network, REAL) as world:
        caller = new_caller(world)
        job = caller.tune("onnx:light_resnet50", trials=40, seconds=JOB_SECONDS)
        assert job["trials"] == 40
        assert len(job["tasks"]) > 10
        assert all(task["best_us"] for task in job["tasks"])
        check_trials_say_where(caller, job, world)
