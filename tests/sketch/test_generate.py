"""Every sketch of every kind of workload computes what te says, for its seeds and for random decisions."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.nest.interpret import interpret
from autosched.sketch.generate import MOST_SKETCHES, generate
from autosched.sketch.sketch import Sketch
from autosched.target.target import Target
from autosched.te.canonical import canonical
from autosched.te.evaluate import evaluate_workload
from autosched.te.integer import Int, evaluate, symbol
from autosched.te.workload import Workload, compute, placeholder, reduce_over
from tests.sketch import workloads

TARGET = Target("cpu", "x86_64", ("avx2", "fma"), "", 2, 32, 16, 32768, 524288, 33554432)
WIDE = Target("cpu", "x86_64", ("avx512f",), "", 2, 64, 32, 32768, 1048576, 33554432)

SMALL: list[Workload] = [
    workloads.matmul(7, 19, 11),
    workloads.matmul(1, 17, 40),
    workloads.integer_matmul(5, 17, 6),
    workloads.matmul_and_relu(5, 9, 7),
    workloads.chained_matmuls(5, 6, 7, 9),
    workloads.convolution(7, 3, 9, (3, 2, 1)),
    workloads.convolution(5, 17, 9, (1, 1, 0)),
    workloads.transposed_convolution(3, 4, 5),
    workloads.max_pool(9, 5, 2),
    workloads.softmax(5, 21),
    workloads.layer_norm(3, 13),
    workloads.attention_scores(9, 2, 5),
    workloads.row_minimum(3, 700),
    workloads.total(1100),
    workloads.arg_max(4, 19),
    workloads.max_and_sum(4, 19),
]


def random_environment(sketch: Sketch, rng: np.random.Generator) -> dict[Int, int] | None:
    """Values drawn until every constraint holds, or None after many draws."""
    for _ in range(200):
        values = {d.name: int(rng.choice(d.domain)) for d in sketch.decisions}
        environment = sketch.environment(values)
        if all(evaluate(c, environment) for c in sketch.constraints):
            return environment
    return None


@pytest.mark.parametrize("workload", SMALL, ids=lambda w: w.name)
def test_sketches_compute_the_workload(workload: Workload) -> None:
    workload = canonical(workload)
    rng = np.random.default_rng(11)
    inputs = workloads.inputs(workload, rng)
    expected = evaluate_workload(workload, inputs)
    for sketch in generate(workload, TARGET):
        environments = [sketch.environment(sketch.seeds[0]), random_environment(sketch, rng)]
        for environment in environments:
            if environment is None:
                continue
            found = interpret(sketch.nest, environment, inputs, order=rng)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a.ravel(), b.ravel(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("workload", SMALL, ids=lambda w: w.name)
def test_few_distinct_sketches_each_with_a_legal_seed(workload: Workload) -> None:
    sketches = generate(canonical(workload), TARGET)
    derivations = {str([s.to_json() for s in sketch.derivation]) for sketch in sketches}
    assert 1 <= len(sketches) <= MOST_SKETCHES
    assert len(derivations) == len(sketches)
    for sketch in sketches:
        environment = sketch.environment(sketch.seeds[0])
        assert all(evaluate(c, environment) for c in sketch.constraints)


def test_generation_is_repeatable() -> None:
    """The same workload gives the same derivations, decisions and seeds."""
    first, second = (
        [
            ([s.to_json() for s in k.derivation], k.decisions, k.seeds)
            for k in generate(canonical(workloads.convolution(7, 8, 9, (3, 1, 1))), TARGET)
        ]
        for _ in range(2)
    )
    assert first == second


def test_lanes_follow_the_target() -> None:
    """A wider vector unit changes lane domains and register limits, and nothing else needs to know."""
    workload = canonical(workloads.matmul(64, 64, 64))
    for target in (TARGET, WIDE):
        sketch = generate(workload, target)[0]
        lanes = [d for d in sketch.decisions if d.name.endswith(".r")][-1]
        assert lanes.domain[0] == target.vector_bytes // 4


def test_a_strange_value_is_named() -> None:
    sketch = generate(canonical(workloads.matmul(64, 64, 64)), TARGET)[0]
    name = sketch.decisions[0].name
    with pytest.raises(ValueError, match=name):
        sketch.environment({**sketch.seeds[0], name: 12345})
    with pytest.raises(ValueError, match=r"nowhere\.r"):
        sketch.environment({**sketch.seeds[0], "nowhere.r": 1})


@pytest.mark.parametrize("rows", [1, 5, 13])
def test_one_nest_serves_every_size(rows: int) -> None:
    """A size known only at run time stays a symbol of the nest."""
    size = symbol("rows", "size")
    a, b = placeholder("a", (size, 16)), placeholder("b", (16, 24))
    c = compute(
        "c",
        {"i": size, "j": 24},
        lambda i, j: reduce_over("sum", {"k": 16}, lambda k: a[i, k] * b[k, j]),
    )
    workload = canonical(Workload("sized", (a, b), c))
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((rows, 16)), rng.standard_normal((16, 24))
    arrays = [x.astype(np.float32), y.astype(np.float32)]
    for sketch in generate(workload, TARGET)[:6]:
        environment = {**sketch.environment(sketch.seeds[0]), size: rows}
        (found,) = interpret(sketch.nest, environment, arrays)
        np.testing.assert_allclose(found, x @ y, rtol=1e-4, atol=1e-4)
