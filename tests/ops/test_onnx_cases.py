"""The ONNX project's own node cases, over every operator of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from autosched.ops import OPS, Operator
from autosched.ops.operator import array_type
from autosched.te.canonical import canonical
from autosched.te.dtype import DTYPES
from autosched.te.evaluate import evaluate_workload
from autosched.te.workload import Workload, placeholder

Array = np.ndarray[Any, Any]

SUPPORTED = {np.dtype(d.numpy) for d in DTYPES.values()}
OUTSIDE = (
    "training",  # training forms
    "_mask",  # the second output of Dropout
    "with_argmax",  # the second output of MaxPool
    "wrap_pad",  # newer than opset 17
    "bool",  # extreme values of bools
    "parts_1d_opset13",  # the number of parts is the node's number of outputs
    "parts_2d_opset13",
    "axis_opset13",
)


def cases() -> list[Any]:
    found = []
    for case in collect_testcases(None):
        nodes = case.model.graph.node if case.model is not None else ()
        if len(nodes) != 1 or nodes[0].op_type not in OPS or nodes[0].domain:
            continue
        arrays = [*case.data_sets[0][0], *case.data_sets[0][1]]
        plain = all(isinstance(a, np.ndarray) and a.dtype in SUPPORTED for a in arrays)
        if plain and not any(word in case.name for word in OUTSIDE):
            found.append(pytest.param(case, id=case.name))
    return found


def application(case: Any) -> tuple[Operator, list[Array | None], dict[str, Any]]:
    """Operator, inputs and attributes of a case, static inputs made attributes."""
    node = case.model.graph.node[0]
    operator = OPS[node.op_type]
    by_name = dict(zip((i.name for i in case.model.graph.input), case.data_sets[0][0], strict=True))
    inputs: list[Array | None] = [by_name.get(name) for name in node.input]
    attributes: dict[str, Any] = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        plain = numpy_helper.to_array(value) if isinstance(value, TensorProto) else value
        attributes[attribute.name] = plain
    for position, name in operator.static_inputs.items():
        if position < len(inputs) and inputs[position] is not None:
            attributes[name], inputs[position] = inputs[position], None
    while inputs and inputs[-1] is None:
        inputs.pop()
    return operator, inputs, attributes


@pytest.mark.parametrize("case", cases())
def test_reference_and_canonical_te_give_the_expected_outputs(case: Any) -> None:
    operator, inputs, given = application(case)
    types = operator.inferred([array_type(a) for a in inputs], given, case.name)
    attributes = operator.complete(given)
    tensors = [
        None if a is None else placeholder(f"x{d}", a.shape, array_type(a).dtype)  # type: ignore[union-attr]
        for d, a in enumerate(inputs)
    ]
    outputs = operator.te(tensors, attributes)
    workload = Workload(operator.name, tuple(t for t in tensors if t is not None), outputs)
    found = evaluate_workload(canonical(workload), [a for a in inputs if a is not None])
    by_numpy = operator.reference(inputs, attributes)
    for d, expected in enumerate(case.data_sets[0][1]):
        wanted = np.asarray(expected, np.float64)
        assert types[d].shape == expected.shape == by_numpy[d].shape
        assert expected.dtype == np.dtype(DTYPES[types[d].dtype].numpy) == by_numpy[d].dtype
        close = {"rtol": 1e-3, "atol": 1e-4}
        np.testing.assert_allclose(by_numpy[d].astype(np.float64), wanted, **close)
        np.testing.assert_allclose(
            found[d].astype(np.float64).reshape(wanted.shape), wanted, **close
        )


def test_there_are_hundreds_of_cases() -> None:
    assert len(cases()) > 300
