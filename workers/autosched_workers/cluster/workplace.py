"""What a node is told of itself by who starts it: Ray hands its actors nothing of their node but the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from autosched.entry.machine import DEVICE
from autosched_workers.lab import HostLab, own_lab
from autosched_workers.simulation.lab import SimulatedLab

VARIABLE = "AUTOSCHED_WORKPLACE"


@dataclass(frozen=True)
class Workplace:
    """`folder` is the node's own (see `standing`). `simulated_seconds`: no kernels, each run takes so long; `devices` are
    then the names of simulated ones. `journal`: what runs is noted. `is_build_only`: it compiles for other hosts, and
    has no device."""

    folder: str
    compiler: str | None = None
    journal: str | None = None
    simulated_seconds: float | None = None
    devices: tuple[str, ...] = ("simulated0",)
    is_build_only: bool = False

    def lab(self) -> HostLab:
        journal = None if self.journal is None else Path(self.journal)
        names = (DEVICE,) if self.simulated_seconds is None else self.devices
        devices = () if self.is_build_only else names
        if self.simulated_seconds is None:
            return own_lab(self.compiler, journal, devices)
        return SimulatedLab(self.simulated_seconds, devices, journal, is_locked=True)

    def environment(self) -> dict[str, str]:
        """For the node, and so for its actors."""
        return {VARIABLE: json.dumps(asdict(self))}


def workplace_of(environment: Mapping[str, str] = os.environ) -> Workplace:
    """That of this process, which a node of ours started."""
    fields = json.loads(environment[VARIABLE])
    return Workplace(**{**fields, "devices": tuple(fields["devices"])})
