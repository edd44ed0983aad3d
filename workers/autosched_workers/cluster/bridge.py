"""The bridge at work: answers the calls of jobs' processes by calls to actors, each in a thread of its caller's.

Ray may end this process at any time, and so may we: whoever waits for an answer then knows that it is lost.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from typing import Any

import ray

from autosched_workers.cluster.actors import Arrays
from autosched_workers.cluster.building import Building
from autosched_workers.cluster.calls import (
    Address,
    Away,
    Build,
    Calibrate,
    Call,
    Lost,
    Measure,
    Raised,
    Send,
    SideBySide,
    Unknown,
)
from autosched_workers.cluster.hosts import Hosts
from autosched_workers.cluster.losses import meaning_of, words_of
from autosched_workers.cluster.recent import Recent, bytes_of

ARRAYS_KEPT = 64
BYTES_KEPT = 4 << 30
"""What Ray's store has no room for lies on the disk; a job sends again what is not kept."""


class Bridge:
    """Serves until its process ends."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._arrays = Recent["ray.ObjectRef[Any]"](ARRAYS_KEPT, BYTES_KEPT)

    def serve(self, address: Address) -> None:
        with Listener(address.path, "AF_UNIX", backlog=64, authkey=address.secret) as listener:
            while True:
                with contextlib.suppress(AuthenticationError, EOFError, ConnectionError):
                    line = listener.accept()
                    threading.Thread(target=self._answer_all, args=(line,), daemon=True).start()

    def answer(self, call: Call) -> object:
        """To one call; whatever goes wrong in the cluster is an answer too."""
        try:
            return ANSWERS[type(call)](self, call)
        except Exception as error:
            answer = Lost if meaning_of(error) == "lost" else Raised
            return answer(words_of(error))

    def _answer_all(self, line: Connection) -> None:
        with contextlib.suppress(EOFError, OSError), line:
            while True:
                line.send(self.answer(line.recv()))

    def _calibrate(self, call: Calibrate) -> object:
        return self._hosts.calibration(call.device) or _away(call.device)

    def _keep(self, call: Send) -> None:
        self._arrays.keep(call.key, ray.put(call.arrays), bytes_of(call.arrays))

    def _build(self, call: Build) -> object:
        groups = self._hosts.forges(call.setup, call.devices)
        if not groups:
            return _away(f"a compiler for {', '.join(call.devices)}")
        return Building(call).by(groups)

    def _measure(self, call: Measure) -> object:
        def measured(bench: Any, arrays: Arrays) -> object:
            return bench.measure.remote(call.setup, call.artefact, arrays, call.policy, call.run)

        return self._on_bench(call.device, call.check, measured)

    def _side_by_side(self, call: SideBySide) -> object:
        def timed(bench: Any, arrays: Arrays) -> object:
            return bench.side_by_side.remote(call.setup, call.artefacts, arrays, call.policy)

        return self._on_bench(call.device, call.inputs, timed)

    def _on_bench(self, device: str, key: str, use: Callable[[Any, Arrays], Any]) -> object:
        """What a device makes of the arrays kept under a key."""
        bench, kept = self._hosts.bench(device), self._arrays.get(key)
        if bench is None:
            return _away(device)
        if kept is None:
            return Unknown(key)
        return ray.get(use(bench, {key: kept}))


def _away(what: str) -> Away:
    return Away(f"{what} is not there now")


ANSWERS: Mapping[type[Call], Callable[[Bridge, Any], object]] = {
    Calibrate: Bridge._calibrate,
    Send: Bridge._keep,
    Build: Bridge._build,
    Measure: Bridge._measure,
    SideBySide: Bridge._side_by_side,
}
