"""Test hosts are apart as machines are: own processes, network and places; links that cut; nothing left at the end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from autosched.testing.waiting import until
from tests.api.process import ENVIRONMENT
from tests.cluster.cpuinfo import features_of, masked_cpuinfo
from tests.cluster.database import Database
from tests.cluster.hosts import OUTSIDE, Host, Network, new_network
from tests.cluster.ports import answering, listeners

SERVE = (sys.executable, "-IS", "-m", "http.server", "-d", "/tmp/home", "8000")
SLEEP = ("sleep", "1000")


def serve(host: Host) -> None:
    host.popen(*SERVE)
    until(lambda: answering(host, "127.0.0.1", [8000]))


def test_hosts_reach_each_other_and_nothing_else(network: Network) -> None:
    one, two = network.host("one"), network.host("two")
    serve(one)
    assert answering(two, one.address, [8000, 8001]) == {8000}
    assert not answering(network.outsider, one.address, [8000])
    routes = one.run("ip", "-4", "route").stdout.splitlines()
    assert [r.split()[0] for r in routes] == ["10.77.0.0/24"]


def test_only_published_ports_are_seen_from_outside(network: Network) -> None:
    front, back = network.host("front", publish=(8000,)), network.host("back")
    serve(front)
    serve(back)
    front.popen(*SERVE[:-1], "8001")
    until(lambda: answering(back, front.address, [8001]))
    assert answering(network.outsider, front.address_on(OUTSIDE), [8000, 8001]) == {8000}
    assert answering(front, back.address, [8000]) == {8000}
    for address in (back.address, front.address):
        assert not answering(network.outsider, address, [8000])


def test_a_cut_link_cuts_and_heals(network: Network) -> None:
    one, two = network.host("one"), network.host("two")
    serve(one)
    network.cut(one)
    assert not answering(two, one.address, [8000], seconds=1.0)
    assert answering(one, "127.0.0.1", [8000])
    network.heal(one)
    until(lambda: answering(two, one.address, [8000]))


def test_a_host_has_its_own_places_and_name(network: Network) -> None:
    one, two = network.host("one"), network.host("two")
    for place in ("/tmp/mark", "/dev/shm/mark", "/tmp/home/mark"):
        one.run("touch", place)
        assert two.run("test", "-e", place, check=False).returncode == 1
        assert not Path(place).exists()
    assert one.run("hostname").stdout == "one\n"
    assert (one.folder / "tmp" / "mark").exists()
    network.shared.joinpath("mark").write_text("seen")
    assert two.run("cat", str(network.shared / "mark")).stdout == "seen"


def test_commands_see_the_product_and_only_what_they_are_told(network: Network) -> None:
    host = network.host("one", cores=(0,))
    told = "import os, json, autosched, autosched_workers; print(json.dumps([dict(os.environ), [*os.sched_getaffinity(0)]]))"
    done = host.run(sys.executable, "-c", told, env={"SAID": "yes"})
    variables, cores = json.loads(done.stdout)
    assert set(variables) - {"LC_CTYPE"} == {"PATH", "HOME", "LANG", "PYTHONPATH", "SAID"}
    assert cores == [0]


def test_the_end_of_a_host_ends_all_that_runs_on_it(network: Network) -> None:
    host = network.host("one")
    host.run("sh", "-c", "setsid sleep 1000 & unshare --pid --fork sleep 1000 &")
    shell = host.popen("sh", "-c", "sleep 1000 & wait")
    until(lambda: _names(host).count("sleep") == 3)
    processes = host.processes()
    host.lose_power()
    assert not [p for p in processes if p.is_running()]
    assert shell.poll() == -signal.SIGKILL
    assert not host.is_up
    host.start()
    assert host.processes() == []


def _names(host: Host) -> list[str]:
    return [p.name() for p in host.processes()]


def test_strays_are_listed_and_orphans_reaped(network: Network) -> None:
    host = network.host("one")
    host.run("sh", "-c", "setsid sleep 1000 & setsid sleep 0 & setsid sleep 0 &")
    until(lambda: _names(host) == ["sleep"])
    host.processes()[0].kill()
    until(lambda: host.processes() == [])


def test_signals_reach_the_command_and_its_status_comes_back(network: Network) -> None:
    host = network.host("one")
    trap = "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    command = host.popen("sh", "-c", trap, log="trap")
    until(lambda: "ready" in command.text())
    assert command.end() == 3
    assert "asked" in command.text()
    killed = host.popen(*SLEEP)
    killed.kill()
    assert killed.poll() == -signal.SIGKILL
    until(lambda: host.processes() == [])


def test_a_command_ends_with_its_starter(network: Network) -> None:
    host = network.host("one")
    command = host.popen(*SLEEP)
    command.entry.kill()
    until(lambda: host.processes() == [])


ABANDON = """
import sys, time
from tests.cluster.hosts import new_network
with new_network() as network:
    one = network.host("one")
    one.run("sh", "-c", "setsid sleep 1000 &")
    one.popen("sleep", "1000")
    print(network.folder, *[p.pid for p in (one.namespaces.init, network.switches.init, *one.processes())], flush=True)
    time.sleep(1000)
"""


def test_nothing_is_left_of_a_test_process_that_was_killed(namespaces_work: None) -> None:
    command = [sys.executable, "-c", ABANDON]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as child:
        assert child.stdout is not None
        folder, *pids = child.stdout.readline().split()
        child.kill()
    assert len(pids) == 4
    until(lambda: not [pid for pid in pids if psutil.pid_exists(int(pid))])
    with new_network():
        assert not Path(folder).exists()


def test_a_host_with_other_features_is_another_target(network: Network) -> None:
    ours = features_of(Path("/proc/cpuinfo").read_text())
    if "avx2" not in ours:
        pytest.skip("this machine has no AVX2 to mask")
    plain = network.host("plain")
    masked = network.host("masked", cpuinfo=masked_cpuinfo(network.shared))
    detect = (
        "from autosched.target.detect import detect_target as d; t = d(); print(t.key, *t.features)"
    )
    (key, *features), (other, *fewer) = (
        h.run(sys.executable, "-c", detect).stdout.split() for h in (plain, masked)
    )
    assert key != other
    assert "avx2" in features
    assert not {"avx2", "fma"} & set(fewer)
    assert "avx" in fewer


def test_a_database_on_a_host_is_reached_from_hosts_and_survives_a_reboot(
    network: Network, database: Database
) -> None:
    host, other = database.host, network.host("other")
    count = "from autosched.db.store import connect; import sys; print(connect(sys.argv[1]).queue_depth())"
    assert {x.port for x in listeners(host)} == {5432}
    assert other.run(sys.executable, "-c", count, database.far).stdout
    host.lose_power()
    host.start()
    database.start_after_reboot()
    assert database.server.sql("select count(*) from trials", database=database.name) == "0\n"
