"""What a node leaves behind belongs to who started it: taken when it has ended, ended with the node."""

from __future__ import annotations

import subprocess
import sys

from tests.api.process import ENVIRONMENT

KEEPER = """
import psutil
from autosched.testing.waiting import until
from autosched_workers.cluster.node_process import NodeProcess

def n_children():
    return len(psutil.Process().children())

node = NodeProcess(["sh", "-c", "(true & sleep 1000 &); exec sleep 1000"], {})
until(lambda: n_children() == 3)
until(lambda: node.reap() or n_children() == 2)
assert node.poll() is None
node.end()
assert n_children() == 0
print("done")
"""


def test_orphans_of_a_node_are_reaped_while_it_runs_and_ended_with_it() -> None:
    """In a process of its own: a node's keeper ends every child that it has."""
    command = [sys.executable, "-c", KEEPER]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
