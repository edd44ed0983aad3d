"""A cluster that anybody can use is refused by whoever is about to join it, unless told that it may be one."""

from __future__ import annotations

import pytest
from autosched_workers.cluster.node import TOKEN

from autosched.testing.waiting import until
from tests.cluster.hosts import Host, Network
from tests.cluster.ports import answering
from tests.cluster.process import Running

PORT = 6379
SECRET = {TOKEN: "1f" * 32}
CLUSTER = ("python", "-m", "autosched_workers.cluster")
WORKER = ("python", "-m", "autosched", "worker", "--simulate=1")
DISPATCHER = ("python", "-m", "autosched_workers", "--db=sqlite:////tmp/a.db")
PROBE = ("python", "-m", "autosched_workers.cluster.probe")


def start_head(host: Host, *, is_open: bool) -> Running:
    head = (*CLUSTER, "head", f"--node-ip={host.address}", f"--port={PORT}")
    if is_open:
        return host.popen(*head, "--insecure", log="head")
    return host.popen(*head, env=SECRET, log="head")


@pytest.mark.slow
def test_only_a_cluster_that_asks_for_a_token_is_joined(network: Network) -> None:
    unlocked, locked, joining = (network.host(n) for n in ("unlocked", "locked", "joining"))
    start_head(unlocked, is_open=True)
    start_head(locked, is_open=False)
    for host in (unlocked, locked):
        until(lambda at=host.address: answering(joining, at, [PORT]), seconds=60, pause=0.2)
    found = [
        joining.run(*PROBE, f"{host.address}:{PORT}").stdout.strip()
        for host in (unlocked, locked, joining)
    ]
    assert found == ["open", "closed", "none"]
    cluster = f"--cluster={unlocked.address}:{PORT}"
    joining.run("python", "-m", "autosched", "db", "upgrade", "--db=sqlite:////tmp/a.db")
    for program in (WORKER, (*CLUSTER, "bridge"), DISPATCHER):
        done = joining.run(*program, cluster, env=SECRET, check=False)
        assert done.returncode == 2
        assert "without a token" in done.stderr
        assert not joining.processes()
    told = joining.popen(*WORKER, cluster, "--insecure", env=SECRET, log="told")
    until(lambda: "joining" in told.text(), seconds=60)
    assert told.end() == 0
