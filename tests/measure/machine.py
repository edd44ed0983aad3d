"""One toolchain, pool and builder for all tests of measuring: they are the slow part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from autosched.measure.build import LocalBuilder
from autosched.measure.pool import pool_library
from autosched.measure.runner import LocalRunner
from autosched.target.detect import detect_target
from autosched.target.target import Target
from autosched.target.toolchain import Toolchain, find_toolchain


@pytest.fixture(scope="session")
def host() -> Target:
    return detect_target()


@pytest.fixture(scope="session")
def toolchain(host: Target) -> Toolchain:
    return find_toolchain(host)


@pytest.fixture(scope="session")
def library(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pool_library(toolchain, tmp_path_factory.mktemp("pool"))


@pytest.fixture(scope="session")
def builder(toolchain: Toolchain, host: Target) -> Iterator[LocalBuilder]:
    with LocalBuilder(toolchain, host.isa) as builder:
        yield builder


@pytest.fixture(scope="session")
def runner(library: Path) -> Iterator[LocalRunner]:
    with LocalRunner(
        library, np.random.default_rng(7), memory_bytes=512 << 20, quiet_seconds=0.2
    ) as runner:
        yield runner
