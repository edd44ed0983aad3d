"""The commands against the whole service: `autosched serve` on simulated devices, one process after the other."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autosched.client import Client
from autosched.testing.waiting import until
from tests.api.process import ENVIRONMENT
from tests.service.serving import end_politely, serving
from tests.service.submissions import matmul_graph

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Shell:
    """Where commands for the service at `url` are given."""

    url: str
    folder: Path

    def start(self, line: str) -> subprocess.Popen[str]:
        """A command, its streams to be read; % stands for the folder."""
        words = line.replace("%", str(self.folder)).split()
        command = [sys.executable, "-m", "autosched", *words, "--server", self.url]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT)

    def run(self, line: str) -> tuple[int, str, str]:
        """Status, stdout and stderr of a command."""
        process = self.start(line)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("serving")
    (folder / "graph.json").write_text(json.dumps(matmul_graph(8)))
    with serving(str(folder / "service.db"), folder) as (service, client):
        yield Shell(str(client.address), folder)
        end_politely(service)


def test_a_tune_prints_its_table_and_its_object(shell: Shell) -> None:
    status, out, err = shell.run("tune %/graph.json --trials 12 --threads 1 --json")
    assert status == 0, err
    document = json.loads(out)
    (task,) = document["tasks"]
    assert task["trials"] == 12
    assert sum(task["outcomes"].values()) - task["outcomes"].get("pruned", 0) == 12
    assert task["best_us"] <= task["default_us"]
    assert document["phase_s"]["search"] > 0
    assert document["wall_s"] == pytest.approx(sum(document["phase_s"].values()))
    status, out, _ = shell.run(f"jobs follow {document['job']}")
    assert status == 0
    assert task["name"] in out
    status, out, _ = shell.run(f"trial {task['trial']}")
    assert status == 0
    assert document["job"] in out
    status, out, _ = shell.run(f"jobs show {document['job']} --json")
    assert json.loads(out)["tasks"] == document["tasks"]


def test_who_interrupts_detaches_and_can_come_back(shell: Shell) -> None:
    command = shell.start("tune %/graph.json --trials 100000 --threads 2")
    assert command.stderr is not None
    first = command.stderr.readline()
    job = first.split()[1].rstrip(":")
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=30)
    assert command.returncode == 130, err
    assert out == ""
    assert f"autosched jobs follow {job}" in err
    with Client(shell.url) as client:
        until(lambda: client.job(job).state == "running")
    following = shell.start(f"jobs follow {job} --json")
    status, out, _ = shell.run(f"jobs cancel {job}")
    assert status == 0
    assert job in out
    out, err = following.communicate(timeout=60)
    assert following.returncode == 1
    assert "cancelled" in err
    assert json.loads(out)["interrupted"] is True
    status, out, _ = shell.run("jobs list --state cancelled")
    assert status == 0
    assert job in out


def test_what_the_service_refuses_is_bad_input(shell: Shell) -> None:
    status, out, err = shell.run("tune suite:NOPE* --trials 1")
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert shell.run("jobs show nothing")[0] == 2
    assert shell.run("jobs resume nothing")[0] == 2
