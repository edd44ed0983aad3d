"""This machine, ready to measure on: builder, runner and calibration together.

with open_local(target, toolchain, rng) as local:
    builds = local.builder.build(kernels)
    found = local.runner.measure(builds[0].artefact, check, policy)
    local.calibration.of(threads).operations_per_second
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autosched.measure.build import BuildLimits, LocalBuilder
from autosched.measure.calibrate import cached_calibration, calibrate, keep_calibration
from autosched.measure.janitor import fresh_tag, sweep
from autosched.measure.pool import cache_folder, pool_library
from autosched.measure.runner import LocalRunner
from autosched.target.calibration import Calibration
from autosched.target.target import Target
from autosched.target.toolchain import Toolchain


@dataclass(frozen=True)
class LocalOptions:
    """`build_jobs`: compilers at once. `folder`: where the pool and the calibration are kept (default: the user's
    cache). `journal`: see `journal`. `memory_bytes`: of one kernel's process. `device`: its name in measurements."""

    build_jobs: int = 2
    build_limits: BuildLimits | None = None
    memory_bytes: int | None = None
    journal: Path | None = None
    folder: Path | None = None
    device: str = ""


@dataclass(frozen=True)
class LocalMachine:
    builder: LocalBuilder
    runner: LocalRunner
    calibration: Calibration


@contextlib.contextmanager
def open_local(
    target: Target,
    toolchain: Toolchain,
    rng: np.random.Generator,
    options: LocalOptions | None = None,
) -> Iterator[LocalMachine]:
    """Sweeps what an earlier, killed run left, and closes everything at the end of the `with` block."""
    options = options or LocalOptions()
    sweep()
    folder, tag = options.folder or cache_folder(), fresh_tag()
    builder = LocalBuilder(
        toolchain, target.isa, jobs=options.build_jobs, limits=options.build_limits, tag=tag
    )
    runner = LocalRunner(
        pool_library(toolchain, folder),
        rng,
        memory_bytes=options.memory_bytes,
        journal=options.journal,
        tag=tag,
        device=options.device,
    )
    with builder, runner:

        def recalibrate() -> Calibration:
            return keep_calibration(folder, target, calibrate(builder, runner, target))

        calibration = cached_calibration(folder, target, recalibrate)
        runner.believe(calibration, recalibrate)
        yield LocalMachine(builder, runner, calibration)
