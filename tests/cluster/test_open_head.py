"""A cluster that anybody can use is refused by whoever is about to join it, unless told that it may be one."""

from __future__ import annotations

import pytest
from autosched_workers.cluster.node import TOKEN

from autosched.testing.waiting import until
from tests.cluster.heads import CLUSTER, PORT, SECRET, WORKER, start_head, wait_for_head
from tests.cluster.hosts import Network

DISPATCHER = ("python", "-m", "autosched_workers", "--db=sqlite:////tmp/a.db")
PROBE = ("python", "-m", "autosched_workers.cluster.probe")


@pytest.mark.campaign
def test_only_a_cluster_that_asks_for_a_token_is_joined(network: Network) -> None:
    unlocked, locked, joining = (network.host(n) for n in ("unlocked", "locked", "joining"))
    start_head(unlocked, is_open=True)
    start_head(locked)
    cluster = wait_for_head(unlocked, joining)
    wait_for_head(locked, joining)
    found = [
        joining.run(*PROBE, f"{host.address}:{PORT}").stdout.strip()
        for host in (unlocked, locked, joining)
    ]
    assert found == ["open", "closed", "none"]
    joining.run("python", "-m", "autosched", "db", "upgrade", "--db=sqlite:////tmp/a.db")
    for program in (WORKER, (*CLUSTER, "bridge"), DISPATCHER):
        done = joining.run(*program, cluster, env=SECRET, check=False)
        assert done.returncode == 2
        assert "without a token" in done.stderr
        assert not joining.processes()
    other = {TOKEN: "2e" * 32}
    done = joining.run(*WORKER, f"--cluster={locked.address}:{PORT}", env=other, check=False)
    assert done.returncode == 2
    assert f"refuses our {TOKEN}" in done.stderr
    assert not joining.processes()
    told = joining.popen(*WORKER, cluster, "--insecure", env=SECRET, log="told")
    until(lambda: "joining" in told.text(), seconds=60)
    assert told.end() == 0
