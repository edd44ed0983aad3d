"""A lab (see `autosched_workers.lab`) of simulated devices."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from autosched.entry.machine import Machine, Setup, host_device
from autosched.measure.device_lock import device_lock
from autosched.measure.protocol import Builder
from autosched.target.calibration import Calibration, MemoryLevel, ThreadCalibration
from autosched.target.files import load_target
from autosched.target.target import Target
from autosched.target.toolchain import Toolchain
from autosched_workers.lab import Offer, Place, host_name
from autosched_workers.simulation.machine import (
    SimulatedBuilder,
    SimulatedRunner,
    simulated_text,
)
from autosched_workers.turns import Turn

TOOLCHAIN = Toolchain("simulated", (), "1", ())
CALIBRATION = Calibration((ThreadCalibration(1, 1e11, (MemoryLevel("memory", 1 << 40, 1e10),)),))


@dataclass(frozen=True)
class SimulatedLab:
    """`seconds` a run takes; `devices` by name; `journal`: the file in which runs are noted; `like`: the shipped target
    whose sizes the simulated one has; `is_locked`: a device is one for all processes of the host."""

    seconds: float
    devices: tuple[str, ...] = ("simulated0",)
    journal: Path | None = None
    like: str = "haswell"
    is_locked: bool = False

    @property
    def alternates(self) -> bool:
        return False

    @property
    def spreads(self) -> bool:
        return False

    @property
    def in_flight(self) -> int:
        return 2

    def offer(self) -> Offer:
        devices = tuple(host_device(d) for d in self.devices)
        return Offer(simulated_target(self.like), TOOLCHAIN, devices)

    @contextmanager
    def open(self, setup: Setup, seed: int, place: Place) -> Iterator[Machine]:
        builder = SimulatedBuilder()
        runner = SimulatedRunner(self.seconds, self.journal, lambda: place.devices()[0])
        try:
            yield Machine(setup, builder, runner, CALIBRATION, simulated_text)
        finally:
            builder.close()
            runner.close()

    @contextmanager
    def open_builder(self, setup: Setup) -> Iterator[Builder]:
        with contextlib.closing(SimulatedBuilder()) as builder:
            yield builder

    def turn(self, device: str) -> Turn:
        return device_lock(host_name(device)) if self.is_locked else nullcontext()


def simulated_target(like: str) -> Target:
    """A target with the sizes of a shipped one that is no machine: neither a lookup nor a warm start for a real one
    reads what was measured on it."""
    return replace(load_target(like), kind="simulated", isa="simulated")
