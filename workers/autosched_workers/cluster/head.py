"""The head of a cluster: it keeps the list of nodes, and measures nothing."""

from __future__ import annotations

import signal
import socket
import sys
import time

from autosched.errors import InvalidInput
from autosched_workers.cluster.node import Member, head_command
from autosched_workers.cluster.node_process import NodeProcess

LOOK_SECONDS = 0.2


def run_head(member: Member, port: int) -> int:
    """Until SIGTERM or SIGINT; the status to end with. InvalidInput: something listens on the port already."""
    _check_free(port)
    node = NodeProcess(head_command(member, port), member.environment())
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: asked.append(number))
    is_open = False
    while node.poll() is None and not asked:
        if not is_open and _is_taken(port):
            is_open = True
            print(
                f"open; join by: autosched worker --cluster {member.head}",
                file=sys.stderr,
                flush=True,
            )
        time.sleep(LOOK_SECONDS)
    if not asked:
        print(f"error: the head ended with {node.how()}", file=sys.stderr)
    node.end()
    return 0 if asked else 1


def _check_free(port: int) -> None:
    if _is_taken(port):
        raise InvalidInput(f"port {port}: something listens there already; --port names another")


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
