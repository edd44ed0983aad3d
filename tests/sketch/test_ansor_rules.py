"""Ansor's rules alone, against its published sketch counts (CPU, four cores), and every sketch against its meaning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autosched.nest.interpret import interpret
from autosched.sketch.generate import ANSOR_RULES, generate, plans_of
from autosched.target.target import Target
from autosched.te.canonical import named
from autosched.te.evaluate import evaluate_workload
from autosched.te.workload import Workload
from tests.sketch import workloads

FOUR_CORES = Target("cpu", "x86_64", ("avx2", "fma"), "", 4, 32, 16, 32768, 524288, 33554432)

COUNTS: dict[str, tuple[Callable[[], Workload], int]] = {
    "matmul 512": (lambda: workloads.matmul(512, 512, 512), 3),
    "matmul 8 x 8 x 512": (lambda: workloads.matmul(8, 8, 512), 5),
    "two chained matmuls": (lambda: workloads.chained_matmuls(512, 512, 512, 512), 9),
    "conv + bias + batch-norm + relu": (lambda: workloads.conv_bn_relu(56, 512, 512), 3),
    "max-pool": (lambda: workloads.max_pool(56, 512, 2), 1),
    "minimum over rows": (lambda: workloads.row_minimum(10, 1024), 3),
    "softmax of one row": (lambda: workloads.softmax(1, 1024), 9),
    "softmax of many rows": (lambda: workloads.softmax(1536, 128), 9),
    "sum of everything": (lambda: workloads.total(128), 3),
}


@pytest.mark.parametrize("case", COUNTS)
def test_published_sketch_counts(case: str) -> None:
    make, count = COUNTS[case]
    assert len(plans_of(named(make()), FOUR_CORES, passes=ANSOR_RULES)) == count


@pytest.mark.parametrize(
    "workload",
    [
        workloads.matmul(7, 9, 11),
        workloads.chained_matmuls(5, 6, 7, 9),
        workloads.softmax(3, 13),
        workloads.total(300),
    ],
    ids=lambda w: w.name,
)
def test_every_sketch_computes_the_workload(workload: Workload) -> None:
    workload = named(workload)
    inputs = workloads.inputs(workload, np.random.default_rng(5))
    expected = evaluate_workload(workload, inputs)
    for sketch in generate(workload, FOUR_CORES, passes=ANSOR_RULES):
        found = interpret(sketch.nest, sketch.environment(sketch.seeds[0]), inputs)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a.ravel(), b.ravel(), rtol=1e-4, atol=1e-5)
