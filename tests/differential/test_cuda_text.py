"""The same nests as CUDA text: one random candidate of each case under the emulation equals the reference."""

from __future__ import annotations

import shutil
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autosched.codegen.cuda import cuda_kernel
from autosched.testing.differential import Candidate, candidates, difference, reference
from autosched.testing.emulate import built, emulate
from tests.codegen.running import AVX2
from tests.differential.workloads import cases

EMULATED = ("float32", "int8", "int32", "int64", "bool")
"""Half types need the toolkit's headers."""

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


def _drawn(seed: int) -> list[Candidate]:
    found = []
    for case in cases():
        rng = np.random.default_rng([seed, zlib.crc32(case.name.encode())])
        tensors = (*case.workload.inputs, *case.workload.outputs)
        if all(t.dtype in EMULATED for t in tensors):
            found += list(candidates(case, AVX2, rng, 1))
    return found


@needs_compiler
def test_cuda_text_of_cpu_sketches_equals_the_reference(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    seed = int(request.config.getoption("--differential-seed"))
    drawn = _drawn(seed)
    assert len(drawn) >= 30
    kernels = [
        cuda_kernel(replace(c.sketch.nest, name=f"n{number}"), c.environment)
        for number, c in enumerate(drawn)
    ]
    library = built(kernels, tmp_path)
    wrong = []
    for candidate, kernel in zip(drawn, kernels, strict=True):
        inputs = candidate.case.inputs(np.random.default_rng(seed))
        found = emulate(kernel, inputs, library)
        if what := difference(candidate.case, found, reference(candidate.case, inputs)):
            wrong.append(f"{what}\n  {candidate.describe()}")
    assert not wrong, f"seed {seed}: {len(wrong)} wrong, among them\n" + "\n".join(wrong[:3])
