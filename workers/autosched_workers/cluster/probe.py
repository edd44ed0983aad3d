"""Whether a head answers callers without the cluster's token, found out by being one.

Ray's nodes and drivers bring their token to any head, also to one that asks for none and lets everybody run what he
likes on the hosts that join it. So who is about to join asks it something beforehand, without a token. That is done by a
process of its own, `python -m autosched_workers.cluster.probe HOST:PORT`, which imports Ray and ends by itself.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import Literal, cast, get_args

from autosched.errors import InvalidInput
from autosched_workers.cluster.node import TOKEN, Member

Answer = Literal["open", "closed", "none"]
"""open: it answers; closed: it asks for another token; none: there is no head, or it takes too long."""

PROBE_SECONDS = 30
CONNECT_SECONDS = 3.0


def can_join(member: Member) -> bool:
    """Whether there is a head to join. InvalidInput: it is open, and nobody said that it may be."""
    if member.is_insecure:
        return True
    answer = answer_of(member.head)
    if answer == "open":
        raise InvalidInput(
            f"cluster {member.head}: its head answers callers without a token, so that anybody may run anything on the "
            f"hosts that join; start it with {TOKEN} set, or say --insecure"
        )
    return answer == "closed"


def check_token(member: Member) -> None:
    """Looks for the reason why a node could not join. InvalidInput: it is the token, for the head has another."""
    if member.token and answer_of(member.head, member.token) == "closed":
        raise InvalidInput(
            f"cluster {member.head}: its head refuses our {TOKEN}, for it was started with another"
        )


def answer_of(head: str, token: str = "") -> Answer:
    """Of a head "HOST:PORT" to a caller with this token, or without. Takes a second or two, and at most
    `PROBE_SECONDS`."""
    told = {k: v for k, v in os.environ.items() if not k.startswith("RAY_AUTH")}
    brings = {"RAY_AUTH_MODE": "token", TOKEN: token} if token else {"RAY_AUTH_MODE": "disabled"}
    asked = subprocess.run(
        [sys.executable, "-m", __name__, head],
        env={**told, **brings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # Ray's own complaints
        text=True,
        check=False,
    )
    said = asked.stdout.strip()
    return cast(Answer, said) if said in get_args(Answer) else "none"


def _ask(head: str) -> Answer:
    """In the process that ends by itself: Ray's calls cannot be interrupted."""
    host, _, port = head.rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except OSError:
        return "none"  # Ray would go on trying
    from ray import _raylet, exceptions

    try:
        _raylet.GcsClient(address=head).internal_kv_keys(b"", None)  # type: ignore[attr-defined]
    except exceptions.AuthenticationError:
        return "closed"
    except exceptions.RayError:
        return "none"
    return "open"


if __name__ == "__main__":
    signal.alarm(PROBE_SECONDS)
    print(_ask(sys.argv[1]))
