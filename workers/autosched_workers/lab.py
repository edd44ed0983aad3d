"""Where a dispatcher's jobs are built and run: what it offers, and a machine for each job.

| lab | devices | a turn covers |
|---|---|---|
| this host | "cpu", all cores that may be used | the whole step: search, builds and runs share its cores |
| a simulated one (`simulation`) | as many as asked for | what happens on the device |
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from autosched.entry.machine import DEVICE, Machine, Setup, host_device, open_shared_machine, set_up
from autosched.jobs.record import SetupKey
from autosched.jobs.workers import Worker
from autosched.measure.build import LocalBuilder
from autosched.measure.device_lock import device_lock
from autosched.measure.protocol import Builder
from autosched.target.files import target_of_fields
from autosched.target.target import Target
from autosched.target.toolchain import Toolchain, toolchain_of_fields
from autosched_workers.turns import Turn


@dataclass(frozen=True)
class Offer:
    """What jobs may ask for: a target at its most threads, and a toolchain. `devices` are "HOST/NAME"."""

    target: Target
    toolchain: Toolchain
    devices: tuple[str, ...]

    def fields(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Of target and toolchain, as the database keeps them."""
        return asdict(self.target), asdict(self.toolchain)

    def worker(self, worker_id: str, host: str, versions: Mapping[str, str]) -> Worker:
        """Who offers this, for the list of workers."""
        target, toolchain = self.fields()
        return Worker(
            id=worker_id,
            host=host,
            target_key=self.target.key,
            target=target,
            max_threads=self.target.threads,
            toolchain_key=self.toolchain.key,
            toolchain=toolchain,
            devices=self.devices,
            versions=versions,
        )

    def setups(self) -> frozenset[SetupKey]:
        """The jobs that it serves: with any number of threads up to its most."""
        counts = range(1, self.target.threads + 1)
        keys = (replace(self.target, threads=n).key for n in counts)
        return frozenset(SetupKey(key, self.toolchain.key) for key in keys)


class Place(Protocol):
    """Where a job is in its turns, and whether it is to go on."""

    def devices(self) -> Sequence[str]:
        """Those of this turn, or of the last one, each "HOST/NAME"."""
        ...

    def checkpoint(self) -> None:
        """Raises Stopped (see `tuning.turns`)."""
        ...


class Lab(Protocol):
    """A place to measure. It is handed to the job's process, so it holds no open thing."""

    @property
    def alternates(self) -> bool:
        """Whether searching disturbs measuring."""
        ...

    @property
    def spreads(self) -> bool:
        """Whether one job can use several devices at once."""
        ...

    @property
    def in_flight(self) -> int:
        """Trials handed to a device at once (see `tuning.in_flight`)."""
        ...

    def open(self, setup: Setup, seed: int, place: Place) -> AbstractContextManager[Machine]:
        """A machine for one job, used in its turns alone."""
        ...

    def turn(self, device: str) -> Turn:
        """Around each turn, in the job's process."""
        ...


class HostLab(Lab, Protocol):
    """One on this host."""

    def offer(self) -> Offer: ...

    def open_builder(self, setup: Setup) -> AbstractContextManager[Builder]:
        """Compilers alone, for a target that need not be this host's."""
        ...


@dataclass(frozen=True)
class LocalLab:
    """This host as it was found. `journal`: a file to which the runner logs what it ran. `devices`: none where the host
    compiles for others alone."""

    setup: Setup
    journal: Path | None = None
    devices: tuple[str, ...] = (DEVICE,)

    @property
    def alternates(self) -> bool:
        return True

    @property
    def spreads(self) -> bool:
        return False

    @property
    def in_flight(self) -> int:
        return 1

    def offer(self) -> Offer:
        return Offer(self.setup.target, self.setup.toolchain, tuple(map(host_device, self.devices)))

    def open(self, setup: Setup, seed: int, place: Place) -> AbstractContextManager[Machine]:
        return open_shared_machine(self._compiling_here(setup), seed=seed, journal=self.journal)

    def open_builder(self, setup: Setup) -> AbstractContextManager[Builder]:
        toolchain = self._compiling_here(setup).toolchain
        return LocalBuilder(toolchain, setup.target.isa, jobs=len(os.sched_getaffinity(0)))

    def turn(self, device: str) -> Turn:
        return device_lock(host_name(device))

    def _compiling_here(self, setup: Setup) -> Setup:
        """The same compiler where this host has it."""
        command = self.setup.toolchain.command
        return replace(setup, toolchain=replace(setup.toolchain, command=command))


def own_lab(
    compiler: str | None, journal: Path | None, devices: tuple[str, ...] = (DEVICE,)
) -> LocalLab:
    """Asks this host once what it is, so that all jobs hear the same. InvalidInput: there is no such compiler."""
    return LocalLab(set_up("host", None, compiler), journal, devices)


def host_name(device: str) -> str:
    """HOST/NAME -> NAME, by which the host knows it."""
    return device.rpartition("/")[2]


def setup_of(setup: SetupKey, target: Mapping[str, Any], toolchain: Mapping[str, Any]) -> Setup:
    """Of fields as the database keeps them."""
    return Setup(target_of_fields(target, setup.target), toolchain_of_fields(toolchain))
