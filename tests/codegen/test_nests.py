"""Every hand-written nest as C gives what it should compute."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.codegen.c import generate_c
from autosched.testing.nests import NESTS
from tests.codegen.running import AVX2, run_kernel


@pytest.mark.parametrize("name", sorted(NESTS))
def test_nest_computes_what_it_should(name: str) -> None:
    example = NESTS[name]()
    inputs = example.inputs(np.random.default_rng(0))
    kernel = generate_c(example.nest, example.environment, AVX2, name)
    found = run_kernel(kernel, inputs)
    for got, want in zip(found, example.expected(*inputs), strict=True):
        limit = example.tolerance * float(np.abs(np.nan_to_num(want)).max())
        np.testing.assert_allclose(got.reshape(want.shape), want, rtol=0, atol=limit)


@pytest.mark.parametrize("name", sorted(NESTS))
def test_text_is_deterministic(name: str) -> None:
    first, second = NESTS[name](), NESTS[name]()
    one = generate_c(first.nest, first.environment, AVX2, name)
    two = generate_c(second.nest, second.environment, AVX2, name)
    assert one.source == two.source
    assert one.digest == two.digest
