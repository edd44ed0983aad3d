"""This machine as a place to build and measure: target, toolchain, builder, runner, and what it reaches."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autosched.codegen.c import generate_c
from autosched.errors import InvalidInput
from autosched.measure.device_lock import device_lock
from autosched.measure.local import LocalOptions, open_local
from autosched.measure.protocol import Builder, Runner
from autosched.target.calibration import Calibration, roofline_seconds
from autosched.target.compare import obstacles
from autosched.target.detect import detect_target
from autosched.target.files import resolve_target
from autosched.target.target import Target
from autosched.target.toolchain import Toolchain, find_toolchain
from autosched.tuning.codebook import Generate
from autosched.tuning.roofline import compulsory_bytes
from autosched.tuning.task import Subject

DEVICE = "cpu"


@dataclass(frozen=True)
class Setup:
    """Target and compiler: all that keys and text depend on."""

    target: Target
    toolchain: Toolchain


@dataclass(frozen=True)
class Machine:
    """An open machine: what gives a candidate's text, builds it and runs it."""

    setup: Setup
    builder: Builder
    runner: Runner
    calibration: Calibration
    generate: Generate = generate_c

    @property
    def target(self) -> Target:
        return self.setup.target

    @property
    def toolchain(self) -> Toolchain:
        return self.setup.toolchain

    def bound_seconds(self, subject: Subject) -> float:
        """The roofline of a workload here."""
        n_bytes = compulsory_bytes(subject.workload)
        return roofline_seconds(subject.operations, n_bytes, self.calibration, self.target.threads)


def host_device(device: str) -> str:
    """The name of a device of this host among all: "HOST/NAME"."""
    return f"{socket.gethostname()}/{device}"


def set_up(target: str = "host", threads: int | None = None, compiler: str | None = None) -> Setup:
    """Target and toolchain by name; InvalidInput for unknown ones."""
    resolved = resolve_target(target, threads)
    return Setup(resolved, find_toolchain(resolved, compiler))


def check_runs_here(setup: Setup) -> None:
    """InvalidInput if this machine cannot run the target's code, with what differs."""
    found = obstacles(setup.target, detect_target())
    if found:
        raise InvalidInput(f"this machine cannot run code for the target: {'; '.join(found)}")
    n_cpus = len(os.sched_getaffinity(0))
    if setup.target.threads > n_cpus:
        raise InvalidInput(
            f"threads {setup.target.threads}: must be at most {n_cpus}, the CPUs this process may use"
        )


@contextmanager
def open_machine(setup: Setup, *, seed: int = 0) -> Iterator[Machine]:
    """Builder and runner on this machine, alone on it, once others have stopped measuring."""
    check_runs_here(setup)
    with device_lock(DEVICE), open_shared_machine(setup, seed=seed) as machine:
        yield machine


@contextmanager
def open_shared_machine(
    setup: Setup, *, seed: int = 0, journal: Path | None = None
) -> Iterator[Machine]:
    """The same for one of several users, who each hold the device's lock while they measure."""
    check_runs_here(setup)
    options = LocalOptions(
        build_jobs=len(os.sched_getaffinity(0)), journal=journal, device=host_device(DEVICE)
    )
    rng = np.random.default_rng(seed)
    with open_local(setup.target, setup.toolchain, rng, options) as local:
        yield Machine(setup, local.builder, local.runner, local.calibration)
