"""Which ports a host listens on, and which of them answer to another host."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from tests.cluster.hosts import Host

LISTENING = """
import json, psutil
found = [c for c in psutil.net_connections("tcp") if c.status == "LISTEN"]
print(json.dumps([[c.laddr.ip, c.laddr.port, " ".join(psutil.Process(c.pid).cmdline()[:6])] for c in found if c.pid]))
"""

TRYING = """
import json, socket, sys
answered = []
for port in map(int, sys.argv[3:]):
    try:
        socket.create_connection((sys.argv[1], port), timeout=float(sys.argv[2])).close()
        answered.append(port)
    except OSError:
        pass
print(json.dumps(answered))
"""


@dataclass(frozen=True)
class Listener:
    """`address`: "0.0.0.0" or "::" for all. `command`: the first words of who listens."""

    address: str
    port: int
    command: str


def listeners(host: Host) -> list[Listener]:
    """All TCP ports that processes of a host listen on."""
    rows = json.loads(host.run(sys.executable, "-c", LISTENING).stdout)
    return [Listener(*row) for row in rows]


def answering(
    tried_from: Host, address: str, ports: Iterable[int], *, seconds: float = 2.0
) -> set[int]:
    """The ports of an address that take a connection from a host; a port that says nothing is given up after `seconds`."""
    tried = map(str, sorted(set(ports)))
    done = tried_from.run(sys.executable, "-IS", "-c", TRYING, address, str(seconds), *tried)
    return set(json.loads(done.stdout))
