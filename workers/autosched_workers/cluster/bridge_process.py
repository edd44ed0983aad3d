"""The process of a dispatcher's bridge, which the dispatcher starts.

Its first line of input says where to listen. From then on both speak one JSON object a line: news of hosts out, words
for hosts in. It ends with its dispatcher, and when Ray cannot be reached any more; then it is started anew.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

import ray

from autosched_workers.cluster.bridge import Bridge
from autosched_workers.cluster.calls import Address
from autosched_workers.cluster.hosts import Hosts, Say
from autosched_workers.cluster.node import Member, node_command
from autosched_workers.cluster.node_process import NodeProcess
from autosched_workers.cluster.probe import can_join, check_token

LOOK_SECONDS = 0.5
JOIN_SECONDS = 120.0
"""For the node to start, which takes long on a host that has much to do; starting again would make it longer."""

SILENT_SECONDS = 20


def run_bridge(member: Member) -> int:
    """The status to end with. Ray reads its settings from the environment that the dispatcher made. InvalidInput: the
    head lets anybody in, or not us."""
    if not can_join(member):
        print(f"error: no head answers at {member.head}", file=sys.stderr)
        return 1
    news = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Ray prints is no news
    told = json.loads(sys.stdin.readline())
    # A driver needs a node on its host.
    node = NodeProcess(node_command(member, is_worker=False), member.environment())
    ended = threading.Event()
    try:
        if not _has_joined(member, node):
            return 1
        hosts = Hosts(_say_to(news))
        bridge, address = Bridge(hosts), Address(told["path"], bytes.fromhex(told["secret"]))
        for body in (lambda: bridge.serve(address), lambda: _listen(hosts)):
            threading.Thread(target=_run, args=(body, ended), daemon=True).start()
        while node.poll() is None and _look(hosts, member) and not ended.wait(LOOK_SECONDS):
            pass
    finally:
        node.end()
    return 0 if ended.is_set() else 1


def _run(body: Callable[[], None], ended: threading.Event) -> None:
    """Without one of its threads it is no bridge, however that ended."""
    try:
        body()
    finally:
        ended.set()


def _look(hosts: Hosts, member: Member) -> bool:
    """See `Hosts.look`. The system ends a process that waits in Ray and can ask nobody any more."""
    signal.alarm(SILENT_SECONDS)
    return hosts.look(member.node_ip)


def _has_joined(member: Member, node: NodeProcess) -> bool:
    """Waits for the node of this host, for so long as it may yet come."""
    deadline = time.monotonic() + JOIN_SECONDS
    while True:
        try:
            ray.init(
                address=member.head,
                _node_ip_address=member.node_ip,
                namespace="autosched",
                log_to_driver=False,
                configure_logging=False,
            )
            return True
        except (RuntimeError, OSError, ray.exceptions.RayError) as error:
            if node.poll() is not None or time.monotonic() > deadline:
                check_token(member)
                print(
                    f"error: cannot join {member.head} by this host's node: {error}",
                    file=sys.stderr,
                )
                return False
            time.sleep(LOOK_SECONDS)


def _say_to(news: TextIO) -> Say:
    lock = threading.Lock()

    def say(message: Mapping[str, Any]) -> None:
        with lock:
            print(json.dumps(message), file=news, flush=True)

    return say


def _listen(hosts: Hosts) -> None:
    """To the dispatcher, to its end."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["say"] == "release":
            hosts.release(message["worker"])
