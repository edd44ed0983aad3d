"""CUDA text: equal to the reference under emulation, compiled by nvcc where there is one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from autosched.codegen.cuda import cuda_kernel
from autosched.codegen.cuda.resources import parse_resources
from autosched.codegen.cuda.scalars import BINARY, INTEGER, PRELUDE, UNARY
from autosched.nest.interpret import interpret
from autosched.nest.nodes import Nest, Region, Store
from autosched.te import expr, integer
from autosched.te.expr import Load
from autosched.te.integer import Int, ceil_div, minimum
from autosched.testing.emulate import built, emulate
from autosched.testing.gpu_nests import GPU_NESTS
from autosched.testing.nests import (
    NESTS,
    Example,
    decision,
    flat_input,
    flat_output,
    index,
    loop,
)

EXAMPLES = {**NESTS, **GPU_NESTS}
GOLDEN = Path(__file__).parents[2] / "golden" / "cuda"
ARCHITECTURES = ("sm_80", "sm_90a")

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


def test_tables_cover_every_operation() -> None:
    assert set(UNARY) == set(expr.UNARY)
    assert set(BINARY) == set(expr.BINARY)
    assert set(INTEGER) == set(integer.OPERATIONS)


@needs_compiler
@pytest.mark.parametrize("name", EXAMPLES)
def test_emulated_text_equals_interpreter_and_reference(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]()
    inputs = example.inputs(np.random.default_rng(5))
    kernel = cuda_kernel(example.nest, example.environment)
    found = emulate(kernel, inputs, built([kernel], tmp_path))
    meaning = interpret(example.nest, example.environment, inputs)
    for got, want, meant in zip(found, example.expected(*inputs), meaning, strict=True):
        assert got.dtype == want.dtype
        for other in (want, meant):
            assert _agree(got, other.ravel(), example)


def _agree(got: np.ndarray, want: np.ndarray, example: Example) -> bool:
    scale = np.nanmax(np.abs(want.astype(np.float64)))
    return np.allclose(got, want, rtol=0, atol=example.tolerance * scale, equal_nan=True)


@needs_nvcc
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", GPU_NESTS)
def test_nvcc_compiles_it_and_reports_resources(
    name: str, architecture: str, tmp_path: Path
) -> None:
    example = GPU_NESTS[name]()
    kernel = cuda_kernel(example.nest, example.environment)
    (resources,) = parse_resources(_compiled(kernel.kernel.source, architecture, tmp_path))
    (launch,) = kernel.launches
    assert (resources.symbol, resources.architecture) == (launch.symbol, architecture)
    assert 0 < resources.registers <= 255
    assert resources.spill_bytes == resources.stack_bytes == 0, "a register array is in memory"
    assert resources.shared_bytes >= launch.shared_bytes


@needs_nvcc
def test_nvcc_compiles_nests_for_the_cpu_too(tmp_path: Path) -> None:
    kernels = [cuda_kernel(e.nest, e.environment) for e in (make() for make in NESTS.values())]
    text = PRELUDE + "".join(k.kernel.source.replace(PRELUDE, "") for k in kernels)
    report = parse_resources(_compiled(text, "sm_80", tmp_path))
    assert {r.symbol for r in report} == {x.symbol for k in kernels for x in k.launches}


def _compiled(text: str, architecture: str, directory: Path) -> str:
    """The report of ptxas; warnings are errors."""
    source = directory / "kernel.cu"
    source.write_text(text)
    flags = [
        "-std=c++17",
        f"-arch={architecture}",
        "-cubin",
        "-Xptxas",
        "-v",
        "-Werror",
        "all-warnings",
    ]
    command = ["nvcc", *flags, "-o", str(directory / "kernel.cubin"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_shared_memory_beyond_the_static_limit_is_dynamic() -> None:
    example = GPU_NESTS["shared_transpose"]()
    (side,) = example.environment
    kernel = cuda_kernel(example.nest, {side: 112})
    (launch,) = kernel.launches
    assert launch.dynamic_shared_bytes == launch.shared_bytes == 112 * 113 * 4
    assert "extern __shared__" in kernel.kernel.source


def _doubled() -> tuple[Nest, Int]:
    """y = 2 x for 23 elements in tiles whose size is not known before the launch."""
    tile, b, i = decision("tile"), index("b"), index("i")
    x, y = flat_input("x", 23), flat_output("y", 23)
    at = b * tile + i
    inner = loop(
        i, 23, (Store(y, (at,), Load(x, (at,)) * 2.0),), limit=minimum(tile, 23 - b * tile)
    )
    region = Region("tiles", (loop(b, ceil_div(23, tile), (), kind="block.x"),), (inner,))
    return Nest("doubled", (x,), (y,), (), (), (), (region,)), tile


@needs_compiler
@pytest.mark.parametrize("size", [1, 4, 23, 40])
def test_open_symbols_are_arguments_and_size_the_grid(size: int, tmp_path: Path) -> None:
    nest, tile = _doubled()
    kernel = cuda_kernel(nest, {}, open_symbols=(tile,))
    assert kernel.kernel.symbols == ("tile",)
    x = np.arange(23, dtype=np.float32)
    (found,) = emulate(kernel, [x], built([kernel], tmp_path), symbols={tile: size})
    assert found.tolist() == (2 * x).tolist()


def test_sizes_that_must_be_static_are_named() -> None:
    example = GPU_NESTS["shared_transpose"]()
    with pytest.raises(ValueError, match="thread count side is not static"):
        cuda_kernel(example.nest, {}, open_symbols=tuple(example.environment))


@pytest.mark.parametrize("name", GPU_NESTS)
def test_text_is_the_golden_one(name: str, update_golden: bool) -> None:
    example = GPU_NESTS[name]()
    text = cuda_kernel(example.nest, example.environment).kernel.source.replace(PRELUDE, "")
    path = GOLDEN / f"{name}.cu"
    if update_golden:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
