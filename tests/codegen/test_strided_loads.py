"""Every second element along a vector is two loads and a shuffle, and touches nothing past the last one."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.codegen.c import generate_c
from autosched.sketch.generate import generate
from autosched.te.canonical import canonical
from autosched.te.workload import Workload, compute, placeholder, reduce_over
from tests.codegen.running import AVX2, run_kernel


@pytest.mark.parametrize("size", [15, 21, 33])
def test_a_pool_of_stride_two(size: int) -> None:
    out = (size - 3) // 2 + 1
    x = placeholder("x", (3, size, size))
    y = compute(
        "y",
        {"c": 3, "h": out, "w": out},
        lambda c, h, w: reduce_over(
            "max", {"a": 3, "b": 3}, lambda a, b: x[c, h * 2 + a, w * 2 + b]
        ),
    )
    image = np.random.default_rng(size).standard_normal((3, size, size)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
    expected = windows[:, ::2, ::2].max(axis=(3, 4))
    for sketch in generate(canonical(Workload("pool", (x,), y)), AVX2):
        kernel = generate_c(sketch.nest, sketch.environment(sketch.seeds[0]), AVX2, "pool")
        assert (out < 8) or "every_second" in kernel.source
        (found,) = run_kernel(kernel, [image.ravel()])
        np.testing.assert_array_equal(found, expected.ravel())
