"""What runs on a node: plain classes, which the bridge makes actors of.

What a host says of itself is JSON, so that one of another version can still say which version it is.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

import ray

from autosched.codegen.kernel import Kernel
from autosched.entry.machine import Machine, Setup
from autosched.measure.protocol import Artefact, Builder, BuildResult, Check, InputSet, TimingPolicy
from autosched.records.record import Measurement, Timing
from autosched.target.calibration import calibration_text
from autosched_workers.cluster.recent import Recent, bytes_of
from autosched_workers.cluster.standing import Standing, fresh_asker
from autosched_workers.cluster.workplace import workplace_of
from autosched_workers.versions import driver_version, versions

Opened = TypeVar("Opened")

Arrays = Mapping[str, "ray.ObjectRef[Any]"]
"""One reference under its key: inside of something, Ray leaves it as it is."""

ARRAYS_KEPT = 8
BYTES_KEPT = 1 << 30


class Host:
    """A node, for one bridge."""

    def __init__(self) -> None:
        self._workplace = workplace_of()
        self._standing = Standing(self._workplace.folder)
        self._asker = fresh_asker()

    def describe(self) -> dict[str, Any]:
        """Once, when the node has joined."""
        offer = self._workplace.lab().offer()
        target, toolchain = offer.fields()
        return {
            "host": socket.gethostname(),
            "target": target,
            "toolchain": toolchain,
            "devices": list(offer.devices),
            "versions": versions(),
            "driver": driver_version(),
        }

    def is_draining(self) -> bool:
        return self._standing.is_draining(self._asker)

    def release(self, *after: None) -> None:
        """Nothing of the cluster's is under way here any more, once Ray has awaited what was to come before."""
        self._standing.release(self._asker)


class Forge:
    """The compilers of a node. They and the node's devices share cores, so a build takes its turn on them."""

    def __init__(self) -> None:
        self._lab = workplace_of().lab()
        self._kept = _Kept[Builder](self._lab.open_builder)

    def build(
        self, setup: Setup, kernels: Sequence[Kernel], *, together: bool
    ) -> list[BuildResult]:
        """One result a kernel, for the setup's features whatever this host has."""
        builder = self._kept.get(setup)
        with contextlib.ExitStack() as turns:
            for device in self._lab.offer().devices if self._lab.alternates else ():
                turns.enter_context(self._lab.turn(device))
            return builder.build(kernels, together=together)

    def finish(self) -> None:
        """What was asked before has been answered."""


class Bench:
    """One device of a node, one run at a time."""

    def __init__(self, device: str, seed: int) -> None:
        self._lab = workplace_of().lab()
        self._device = device
        self._arrays = Recent[Check | InputSet](ARRAYS_KEPT, BYTES_KEPT)
        self._kept = _Kept[Machine](lambda setup: self._lab.open(setup, seed, self))

    def devices(self) -> Sequence[str]:
        return (self._device,)

    def checkpoint(self) -> None:
        """Who calls decides when to stop."""

    def calibrate(self) -> str:
        """What the device reaches (see `target.calibration`), measured where that is not known yet."""
        offer = self._lab.offer()
        with self._lab.turn(self._device):
            machine = self._kept.get(Setup(offer.target, offer.toolchain))
        return calibration_text(machine.calibration)

    def measure(
        self, setup: Setup, artefact: Artefact, arrays: Arrays, policy: TimingPolicy, run: str
    ) -> Measurement:
        """`arrays`: of a Check."""
        check = self._received(arrays)
        with self._lab.turn(self._device):
            return self._kept.get(setup).runner.measure(artefact, check, policy, run=run)

    def side_by_side(
        self, setup: Setup, artefacts: Sequence[Artefact], arrays: Arrays, policy: TimingPolicy
    ) -> list[Timing | None]:
        """`arrays`: of an InputSet."""
        inputs = self._received(arrays)
        with self._lab.turn(self._device):
            return self._kept.get(setup).runner.side_by_side(artefacts, inputs, policy)

    def _received(self, arrays: Arrays) -> Any:
        """Fetched once, and the same object from then on."""
        ((key, ref),) = arrays.items()
        kept = self._arrays.get(key)
        if kept is None:
            kept = ray.get(ref)
            self._arrays.keep(key, kept, bytes_of(kept))
        return kept


class _Kept(Generic[Opened]):
    """What was opened last stays open until another setup is asked for."""

    def __init__(self, open_: Callable[[Setup], AbstractContextManager[Opened]]) -> None:
        self._open_ = open_
        self._setup: Setup | None = None
        self._stack = contextlib.ExitStack()
        self._opened: Opened

    def get(self, setup: Setup) -> Opened:
        if setup != self._setup:
            self._setup = None
            self._stack.close()
            self._opened = self._stack.enter_context(self._open_(setup))
            self._setup = setup
        return self._opened
