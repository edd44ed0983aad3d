"""Every hand-written nest as C gives what it should compute."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autosched.codegen.c import generate_c
from autosched.testing.nests import NESTS
from tests.codegen.running import AVX2, FLAGS, has_compiler, run_kernel


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


WIDTHS = {16: "aarch64-linux-gnu", 64: "x86_64-linux-gnu"}
CROSS_FLAGS = {16: (), 64: ("-mavx512f", "-mavx512vl", "-mavx512dq", "-mavx512bw")}


@pytest.mark.parametrize("vector_bytes", sorted(WIDTHS))
@pytest.mark.parametrize("name", sorted(NESTS))
def test_other_widths_give_the_same(name: str, vector_bytes: int) -> None:
    """The text for wider and narrower vectors, run on this machine's compiler."""
    example = NESTS[name]()
    inputs = example.inputs(np.random.default_rng(1))
    target = replace(AVX2, vector_bytes=vector_bytes)
    kernel = generate_c(example.nest, example.environment, target, name)
    found = run_kernel(kernel, inputs)
    for got, want in zip(found, example.expected(*inputs), strict=True):
        limit = example.tolerance * float(np.abs(np.nan_to_num(want)).max())
        np.testing.assert_allclose(got.reshape(want.shape), want, rtol=0, atol=limit)


@pytest.mark.skipif(not has_compiler("clang"), reason="clang is not installed")
@pytest.mark.parametrize("vector_bytes", sorted(WIDTHS))
def test_text_compiles_for_other_machines(vector_bytes: int, tmp_path: Path) -> None:
    target = replace(AVX2, vector_bytes=vector_bytes)
    for name, example in NESTS.items():
        made = example()
        source = tmp_path / f"{name}.c"
        source.write_text(generate_c(made.nest, made.environment, target, name).source)
        machine = (f"--target={WIDTHS[vector_bytes]}", *CROSS_FLAGS[vector_bytes])
        command = ["clang", *machine, *FLAGS, "-c", str(source), "-o", str(tmp_path / "k.o")]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr


def test_operations_count_padding_of_vectors() -> None:
    """13 x 11 x 17 in 4 x 8 tiles: rows exact, columns as 8 and (3 of) 8; bias and clamp an element each."""
    example = NESTS["matmul"]()
    kernel = generate_c(example.nest, example.environment, AVX2, "count")
    assert kernel.operations == 13 * 16 * (17 * 2 + 2)
