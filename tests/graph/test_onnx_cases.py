"""Every tenth of onnx's own operator tests, through import, export, passes, partition and evaluation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

from autosched.errors import InvalidInput
from autosched.graph.execute import evaluating, run_plan
from autosched.graph.importers.json import export_json, import_json
from autosched.graph.importers.onnx import import_onnx
from autosched.graph.partition.cut import partition
from autosched.graph.passes.pipeline import simplify
from autosched.ops import OPS

EVERY = 10


def cases() -> list[Any]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = sorted(collect_testcases(None), key=lambda case: case.name)
    return [c for c in found if c.model is not None and readable(c)]


def readable(case: Any) -> bool:
    values = [v for part in case.data_sets[0] for v in part]
    arrays = all(isinstance(v, np.ndarray | np.generic) for v in values)
    return arrays and all(n.op_type in OPS and not n.domain for n in case.model.graph.node)


def steering_inputs(model: onnx.ModelProto) -> set[str]:
    """Inputs that must be constants: shapes, axes, and the second input of reductions."""
    steering = {op: set(OPS[op].static_inputs) for op in OPS}
    return {
        name
        for node in model.graph.node
        for position, name in enumerate(node.input)
        if position in steering[node.op_type]
        or (node.op_type.startswith("Reduce") and position == 1)
    }


def check(case: Any) -> bool:
    """False where the importer refuses the case with a reason; otherwise its values must come out."""
    inputs, outputs = case.data_sets[0]
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    feeds = {v.name: np.asarray(a) for v, a in zip(model.graph.input, inputs, strict=False)}
    for name in steering_inputs(model) & feeds.keys():
        model.graph.initializer.append(numpy_helper.from_array(feeds.pop(name), name))
    try:
        shapes = {name: array.shape for name, array in feeds.items()}
        graph = import_onnx(model.SerializeToString(), shapes=shapes)
    except InvalidInput:
        return False
    part = partition(simplify(import_json(export_json(graph))))
    values = run_plan(part.plan, feeds, evaluating(part))
    for name, expected in zip(graph.outputs, map(np.asarray, outputs), strict=True):
        assert (values[name].shape, values[name].dtype) == (expected.shape, expected.dtype)
        a, b = values[name].astype(np.float64), expected.astype(np.float64)
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5, err_msg=case.name)
    return True


@pytest.mark.slow
def test_onnx_operator_cases() -> None:
    done = [check(case) for case in cases()[::EVERY]]
    assert len(done) > 60
    assert sum(done) > 0.7 * len(done)
