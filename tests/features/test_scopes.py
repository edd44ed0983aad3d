"""Counts and footprints of the column reader against what the interpreter really does."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.nest.interpret import interpret
from autosched.nest.nodes import Loop
from autosched.nest.observer import Trace
from autosched.nest.scopes import read_prepare, read_regions
from autosched.te.integer import evaluate
from autosched.testing.gpu_nests import GPU_NESTS
from autosched.testing.nests import NESTS, Example

EXAMPLES = {**NESTS, **GPU_NESTS}


def traced(example: Example) -> Trace:
    trace = Trace()
    inputs = example.inputs(np.random.default_rng(0))
    interpret(example.nest, example.environment, inputs, observer=trace)
    return trace


@pytest.mark.parametrize("name", NESTS)
def test_executions_are_those_of_the_interpreter(name: str) -> None:
    example = EXAMPLES[name]()
    trace = traced(example)
    for region in (*read_prepare(example.nest), *read_regions(example.nest)):
        for statement in region.statements:
            count = 1.0
            for factor in statement.factors:
                count *= evaluate(factor.numerator, example.environment)
                count /= evaluate(factor.denominator, example.environment)
            assert count == pytest.approx(trace.executed[statement.node]), statement.node


@pytest.mark.parametrize("name", EXAMPLES)
def test_footprints_are_never_too_small_and_mostly_exact(name: str) -> None:
    example = EXAMPLES[name]()
    trace = traced(example)
    exact = compared = 0
    for region in (*read_prepare(example.nest), *read_regions(example.nest)):
        for scope in region.root.walk():
            if not isinstance(scope.loop, Loop) or scope.parallel:
                continue
            for buffer, elements in scope.footprints().items():
                seen = trace.footprint.get((scope.loop, buffer))
                if seen is None:
                    continue
                bound = evaluate(elements, example.environment)
                assert bound >= seen, (name, buffer.name)
                compared += 1
                exact += bound == seen
    assert exact >= 0.8 * compared or name in GPU_NESTS
