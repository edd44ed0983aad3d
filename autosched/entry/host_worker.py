"""The one worker of this host: a lock that it holds, by which it is found and asked to end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from autosched.errors import InvalidInput
from autosched.measure.device_lock import DeviceBusy, device_lock, holder_of

NAME = "worker"


@contextmanager
def hold_worker() -> Iterator[None]:
    """For as long as this process is the host's worker. DeviceBusy: there is another."""
    with ExitStack() as held:
        try:
            held.enter_context(device_lock(NAME, wait_seconds=0.0))
        except DeviceBusy:
            pid = holder_of(NAME)
            which = "" if pid is None else f" (process {pid})"
            raise DeviceBusy(
                f"a worker already runs on this host{which}; `autosched worker --drain` ends it"
            ) from None
        yield


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
