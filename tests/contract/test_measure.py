"""The contract of builders and runners over all of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from autosched.measure.build import LocalBuilder
from autosched.measure.pool import pool_library
from autosched.measure.protocol import Builder, Runner
from autosched.measure.replay import ReplayBuilder, ReplayRunner
from autosched.measure.runner import LocalRunner
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Timing
from autosched.target.detect import detect_target
from autosched.target.toolchain import find_toolchain
from autosched.testing.measure_contract import KERNELS, SIMULATED, MeasureContract
from autosched.testing.simulated import SimulatedMachine

BY_DIGEST = {KERNELS[name].digest: answer for name, answer in SIMULATED.items()}


@pytest.fixture(scope="module")
def builder() -> Iterator[Builder]:
    host = detect_target()
    with LocalBuilder(find_toolchain(host), host.isa) as builder:
        yield builder


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    library = pool_library(find_toolchain(detect_target()), tmp_path_factory.mktemp("pool"))
    with LocalRunner(library, np.random.default_rng(0), quiet_seconds=0.2) as runner:
        yield runner


class TestLocal(MeasureContract):
    """With the fixtures of this module."""


class TestSimulated(MeasureContract):
    @pytest.fixture
    def machine(self) -> SimulatedMachine:
        return SimulatedMachine(lambda kernel: BY_DIGEST[kernel.digest])

    @pytest.fixture
    def builder(self, machine: SimulatedMachine) -> Builder:
        return machine

    @pytest.fixture
    def runner(self, machine: SimulatedMachine) -> Runner:
        return machine


def recorded() -> dict[str, Measurement]:
    """What a real run of the kernels would have left."""
    found = {}
    for digest, answer in BY_DIGEST.items():
        if isinstance(answer, Outcome):
            found[digest] = Measurement(answer, error="recorded", source_digest=digest)
        else:
            timing = Timing(answer, 0.0, 5, 0.0, 1)
            found[digest] = Measurement(Outcome.OK, timing, source_digest=digest)
    return found


class TestReplay(MeasureContract):
    @pytest.fixture
    def builder(self) -> Builder:
        return ReplayBuilder(recorded())

    @pytest.fixture
    def runner(self) -> Runner:
        return ReplayRunner(recorded())
