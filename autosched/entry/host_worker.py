"""The one worker of this host: a lock that it holds, by which it is found and asked to end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager

from autosched.errors import InvalidInput
from autosched.measure.device_lock import device_lock, holder_of

NAME = "worker"


def hold_worker() -> AbstractContextManager[object]:
    """For as long as this process is the host's worker. DeviceBusy: there is another."""
    return device_lock(NAME, wait_seconds=0.0)


def drain_worker(say: Callable[[str], None]) -> bool:
    """Asks the worker to finish what is under way, and waits until it has ended. False if there is none. InvalidInput: it
    is another user's."""
    pid = holder_of(NAME)
    if pid is None:
        say("no worker runs on this host")
        return False
    try:
        os.kill(pid, signal.SIGTERM)
    except PermissionError:
        raise InvalidInput(f"worker {pid}: only its user or root may ask it to end") from None
    except ProcessLookupError:
        pass  # by itself, just now
    with device_lock(NAME):
        say(f"worker {pid} has ended")
    return True
