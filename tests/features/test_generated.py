"""The column reader on generated sketches: counts and footprints against the interpreter, at random decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from autosched.features.space import Limits, Space
from autosched.nest.interpret import interpret
from autosched.nest.nodes import Loop
from autosched.nest.observer import Trace
from autosched.nest.scopes import RegionScopes, Statement, read_prepare, read_regions
from autosched.search.sampling import sample
from autosched.sketch.generate import generate
from autosched.te.canonical import canonical
from autosched.te.expr import call, maximum_of
from autosched.te.integer import Int, evaluate
from autosched.te.workload import Workload, compute, placeholder, reduce_over
from autosched.testing.spaces import TARGET

LOOSE = Limits(code=1e9, register_share=1e9, scratch_bytes=1e12)


def matmul() -> Workload:
    a, b = placeholder("a", (7, 11)), placeholder("b", (11, 13), constant=True)
    bias = placeholder("bias", (13,))
    (c,) = compute(
        "c",
        {"i": 7, "j": 13},
        lambda i, j: reduce_over("sum", {"k": 11}, lambda k: a[i, k] * b[k, j]),
    )
    (d,) = compute("d", {"i": 7, "j": 13}, lambda i, j: maximum_of(c[i, j] + bias[j], 0.0))
    return canonical(Workload("matmul", (a, b, bias), (d,)))


def convolution() -> Workload:
    x, w = placeholder("x", (7, 7, 3)), placeholder("w", (3, 3, 3, 5), constant=True)
    (y,) = compute(
        "y",
        {"h": 5, "w": 5, "f": 5},
        lambda h, v, f: reduce_over(
            "sum",
            {"rh": 3, "rw": 3, "rc": 3},
            lambda rh, rw, rc: x[h + rh, v + rw, rc] * w[rh, rw, rc, f],
        ),
    )
    return canonical(Workload("conv", (x, w), (y,)))


def softmax() -> Workload:
    x = placeholder("x", (5, 19))
    (top,) = compute("top", {"i": 5}, lambda i: reduce_over("max", {"k": 19}, lambda k: x[i, k]))
    (power,) = compute("power", {"i": 5, "j": 19}, lambda i, j: call("exp", x[i, j] - top[i]))
    (total,) = compute(
        "total", {"i": 5}, lambda i: reduce_over("sum", {"k": 19}, lambda k: power[i, k])
    )
    (y,) = compute("y", {"i": 5, "j": 19}, lambda i, j: power[i, j] / total[i])
    return canonical(Workload("softmax", (x,), (y,)))


def full_sum() -> Workload:
    x = placeholder("x", (301,))
    (y,) = compute("y", {"o": 1}, lambda o: reduce_over("sum", {"k": 301}, lambda k: x[k + o]))
    return canonical(Workload("sum", (x,), (y,)))


WORKLOADS = {f.__name__: f for f in (matmul, convolution, softmax, full_sum)}


def executions(statement: Statement, environment: Mapping[Int, int]) -> float:
    count = 1.0
    for factor in statement.factors:
        count *= evaluate(factor.numerator, environment)
        count /= evaluate(factor.denominator, environment)
    return count


def footprints(
    region: RegionScopes, environment: Mapping[Int, int], trace: Trace
) -> Iterator[tuple[int, int]]:
    """Bound and what the interpreter saw, of memory in each serial loop."""
    for scope in region.root.walk():
        if isinstance(scope.loop, Loop) and not scope.parallel:
            for buffer, elements in scope.footprints().items():
                seen = trace.footprint.get((scope.loop, buffer))
                if seen is not None and buffer.scope != "register":
                    yield evaluate(elements, environment), seen


@pytest.mark.parametrize("name", WORKLOADS)
def test_counts_are_exact_and_footprints_never_too_small(name: str) -> None:
    """A partial tile counts whole in a footprint, for that is what fits or not; hence bounds, not equality."""
    workload = WORKLOADS[name]()
    space = Space(generate(workload, TARGET), TARGET, LOOSE)
    rng = np.random.default_rng(3)
    inputs = tuple(rng.standard_normal(t.static_shape).astype(np.float32) for t in workload.inputs)
    ratios: list[float] = []
    for number in range(0, len(space.sketches), max(1, len(space.sketches) // 4)):
        nest = space.sketches[number].nest
        population = sample(space, number, 2, rng)
        for row in range(len(population)):
            environment = space.sketches[number].environment(space.values(population, row))
            trace = Trace()
            interpret(nest, environment, inputs, observer=trace)
            for region in (*read_prepare(nest), *read_regions(nest)):
                for statement in region.statements:
                    expected = trace.executed[statement.node]
                    assert executions(statement, environment) == pytest.approx(expected)
                for bound, seen in footprints(region, environment, trace):
                    assert bound >= seen
                    ratios.append(bound / seen)
    assert np.median(ratios) < 1.5
    assert max(ratios) < 4
