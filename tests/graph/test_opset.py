"""Operators of other opsets take their opset-17 form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autosched.errors import InvalidInput
from autosched.graph.graph import Draft, Node, TensorType
from autosched.graph.importers.opset import raise_opset


def raised(node: Node, opset: int, constants: dict[str, Any] | None = None) -> Draft:
    inputs = {"x": TensorType((2, 3, 4), "float32")}
    return raise_opset(Draft(inputs, ("y",), (node,), constants or {}, {"": opset}))


def test_attributes_become_constant_inputs() -> None:
    draft = raised(Node("n", "Clip", ("x",), ("y",), {"max": 6.0}), 9)
    (node,) = draft.nodes
    assert node.inputs == ("x", "", "y/max")
    assert draft.constants["y/max"] == np.float32(6)
    assert not node.attributes


def test_inputs_become_attributes() -> None:
    node = Node("n", "ReduceMean", ("x", "a"), ("y",), {"keepdims": 0})
    (now,) = raised(node, 18, {"a": np.array([1, -1])}).nodes
    assert now.inputs == ("x",)
    assert now.attributes == {"axes": (1, -1), "keepdims": 0}


def test_computed_axes_are_refused() -> None:
    with pytest.raises(InvalidInput, match="axes is tensor 'a'"):
        raised(Node("n", "ReduceMean", ("x", "a"), ("y",)), 18)


def test_old_softmax_works_on_two_dimensions() -> None:
    draft = raised(Node("n", "Softmax", ("x",), ("y",)), 9)
    assert [n.op for n in draft.nodes] == ["Flatten", "Softmax", "Shape", "Reshape"]
    assert draft.nodes[0].attributes == {"axis": 1}
    assert draft.nodes[1].attributes == {"axis": -1}
    assert draft.nodes[-1].outputs == ("y",)


def test_new_softmax_is_left_alone() -> None:
    node = Node("n", "Softmax", ("x",), ("y",), {"axis": 1})
    assert raised(node, 13).nodes == (node,)


def test_dropout_is_the_identity_and_its_mask_unknown() -> None:
    node = Node("n", "Dropout", ("x",), ("y", "m"), {"ratio": 0.5})
    assert [n.op for n in raised(node, 9).nodes] == ["Identity"]
    with pytest.raises(InvalidInput, match="mask 'y'"):
        raised(Node("n", "Dropout", ("x",), ("m", "y")), 9)


def test_dropout_of_training_is_refused() -> None:
    node = Node("n", "Dropout", ("x", "r", "t"), ("y",))
    assert raised(node, 13, {"t": np.array(False)}).nodes[0].op == "Identity"
    with pytest.raises(InvalidInput, match="training_mode 1"):
        raised(node, 13, {"t": np.array(True)})


@pytest.mark.parametrize(
    ("attributes", "rule"), [({"spatial": 0}, "spatial 0"), ({"training_mode": 1}, "inference")]
)
def test_batch_norm_of_training_is_refused(attributes: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        raised(Node("n", "BatchNormalization", ("x", *"abcd"), ("y",), attributes), 7)


def test_constants_leave_the_nodes() -> None:
    draft = raised(Node("n", "Constant", (), ("y",), {"value_ints": (3, 4)}), 13)
    assert not draft.nodes
    np.testing.assert_array_equal(draft.constants["y"], [3, 4])


@pytest.mark.parametrize("opset", [0, 99])
def test_unknown_opsets_are_refused(opset: int) -> None:
    with pytest.raises(InvalidInput, match=f"opset {opset}"):
        raised(Node("n", "Relu", ("x",), ("y",)), opset)


@pytest.mark.parametrize(
    ("node", "rule"),
    [
        (Node("n", "Softmax", ("x",), ()), "'n' \\(Softmax\\) makes no tensor"),
        (Node("n", "Clip", (), ("y",)), "no first input"),
        (Node("n", "Dropout", ("",), ("y",)), "no first input"),
    ],
)
def test_operators_without_operands_are_refused(node: Node, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        raised(node, 9)
