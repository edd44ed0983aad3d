"""The head of a cluster: it keeps the list of nodes, and measures nothing."""

from __future__ import annotations

import signal
import time

from autosched_workers.cluster.node import Member, head_command
from autosched_workers.cluster.node_process import NodeProcess

LOOK_SECONDS = 0.2


def run_head(member: Member, port: int) -> int:
    """Until SIGTERM or SIGINT; the status to end with."""
    node = NodeProcess(head_command(member, port), member.environment())
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: asked.append(number))
    while node.poll() is None and not asked:
        time.sleep(LOOK_SECONDS)
    node.end()
    return 0 if asked else 1
