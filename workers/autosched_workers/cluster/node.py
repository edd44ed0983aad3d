"""Starting a process of Ray on this host: the command and the environment that every node of a cluster shares."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autosched.errors import InvalidInput

RESOURCE = "autosched"
"""What a worker's node is known by."""

MOST_PORT = 65_535

STORE_BYTES = 512 << 20
HEAD_STORE_BYTES = 100 << 20
"""Of Ray's store of objects, in shared memory."""

DETECTION = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "15",
}
"""A node that is dead is known to be within 10 s, and one whose head is gone ends after 15 s, to join again."""


@dataclass(frozen=True)
class Member:
    """A host in a cluster: the head's "HOST:PORT", and the address at which the others reach this one. `token`: the
    cluster's secret; "" for one without. `is_insecure`: it may be a cluster that anybody can use."""

    head: str
    node_ip: str
    token: str
    is_insecure: bool = False

    def environment(self) -> dict[str, str]:
        auth = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token} if self.token else {}
        return {**DETECTION, **auth, "RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}


TOKEN = "RAY_AUTH_TOKEN"


def cluster_token(environment: Mapping[str, str], *, is_insecure: bool) -> str:
    """The cluster's secret. InvalidInput: there is none, and nobody said that there need not be."""
    token = environment.get(TOKEN, "")
    if not token and not is_insecure:
        raise InvalidInput(
            f"{TOKEN} is not set: a cluster without a token runs whatever anybody sends it; --insecure allows one"
        )
    return token


LOOPBACK = "127."
ELSEWHERE = ("8.8.8.8", 53)
"""Any address beyond this host's networks; nothing is sent there."""


def node_address(given: str | None, head: str) -> str:
    """This host's address in the cluster of "HOST:PORT": what was said, else the one by which it reaches the head. Ray
    knows no host by a loopback address, but by the one that it would have for others; so must we. InvalidInput: there is
    no way to the head."""
    address = given or own_address(head)
    return _address_for_others() if address.startswith(LOOPBACK) else address


def _address_for_others() -> str:
    with contextlib.suppress(OSError):
        return _source_to(ELSEWHERE)
    with contextlib.suppress(OSError):
        return socket.gethostbyname(socket.gethostname())
    return f"{LOOPBACK}0.0.1"


def _source_to(address: Any, family: socket.AddressFamily = socket.AF_INET) -> str:
    """The address of this host by which it reaches another."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(address)  # of a datagram: nothing is sent
        return str(probe.getsockname()[0])


def own_address(head: str) -> str:
    """The address by which this host reaches "HOST:PORT", and so is reached. InvalidInput: there is no way there."""
    host, _, port = head.rpartition(":")
    if not (host and port.isascii() and port.isdecimal() and int(port) <= MOST_PORT):
        raise InvalidInput(f"cluster {head!r}: must be HOST:PORT of a head")
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_DGRAM)
        family, *_, address = found[0]
        return _source_to(address, family)
    except (OSError, UnicodeError) as error:
        raise InvalidInput(f"cluster {head!r}: must be HOST:PORT of a head: {error}") from None


def node_command(member: Member, *, is_worker: bool) -> list[str]:
    """A node that lasts as long as its process; known as a worker's, or one that has nothing to offer."""
    return [
        *_start(member, STORE_BYTES),
        f"--address={member.head}",
        f"--num-cpus={int(is_worker)}",
        *([f"--resources={json.dumps({RESOURCE: 1})}"] if is_worker else []),
    ]


def head_command(member: Member, port: int) -> list[str]:
    """A head that lasts as long as its process, without the helpers that nobody asks."""
    alone = (
        "--head",
        f"--port={port}",
        "--num-cpus=0",
        "--include-dashboard=false",
        "--no-monitor",
    )
    return [*_start(member, HEAD_STORE_BYTES), *alone]


def _start(member: Member, store_bytes: int) -> list[str]:
    return [
        str(Path(sys.executable).with_name("ray")),
        "start",
        "--block",
        f"--node-ip-address={member.node_ip}",
        f"--object-store-memory={store_bytes}",
        "--include-log-monitor=false",
        "--disable-usage-stats",
    ]
