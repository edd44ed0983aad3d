"""Operators that never reach a kernel: their results follow from shapes and constants alone.

Shape(x)                  ->  the constant [1, 3, 224, 224]
ConstantOfShape([64, 3])  ->  a constant that takes no memory until it is used
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.graph.graph import Array, Node, TensorType
from autosched.graph.limits import ImportLimits, check_size
from autosched.graph.structure import describe

Values = Mapping[str, Array]
Types = Mapping[str, TensorType]


def _shape(node: Node, types: Types, values: Values, limits: ImportLimits) -> Array:
    shape = _operand_type(node, types).shape
    return np.asarray(
        shape[slice(node.attributes.get("start", 0), node.attributes.get("end"))], np.int64
    )


def _size(node: Node, types: Types, values: Values, limits: ImportLimits) -> Array:
    return np.asarray(_operand_type(node, types).elements, np.int64)


def _constant_of_shape(node: Node, types: Types, values: Values, limits: ImportLimits) -> Array:
    fill = np.asarray(node.attributes.get("value", np.zeros(1, np.float32)))
    if fill.size != 1:
        raise InvalidInput(f"{describe(node)}: value has {fill.size} elements; one is needed")
    shape = tuple(int(d) for d in np.ravel(_known(node, 0, values)))
    check_size(node.outputs[0], TensorType(shape, fill.dtype.name), limits)
    return np.broadcast_to(fill.reshape(()), shape)


def _range(node: Node, types: Types, values: Values, limits: ImportLimits) -> Array:
    start, stop, step = (_scalar(node, i, values) for i in range(3))
    if step == 0:
        raise InvalidInput(f"{describe(node)}: delta is 0; it must not be")
    with np.errstate(all="ignore"):
        steps = np.ceil((stop - start) / step)
    if not np.isfinite(steps):
        raise InvalidInput(f"{describe(node)}: {start} to {stop} by {step} has no finite length")
    count = max(0, int(steps))
    check_size(node.outputs[0], TensorType((count,), start.dtype.name), limits)
    return (start + np.arange(count, dtype=start.dtype) * step).astype(start.dtype)


def _operand_type(node: Node, types: Types) -> TensorType:
    if not node.reads:
        raise InvalidInput(f"{describe(node)}: input 0 is missing")
    return types[node.reads[0]]


def _scalar(node: Node, position: int, values: Values) -> Any:
    known = np.ravel(_known(node, position, values))
    if known.size != 1:
        raise InvalidInput(
            f"{describe(node)}: input {position} has {known.size} elements; one is needed"
        )
    return known[0]


def _known(node: Node, position: int, values: Values) -> Any:
    tensor = node.inputs[position] if position < len(node.inputs) else ""
    if not tensor:
        raise InvalidInput(f"{describe(node)}: input {position} is missing")
    if tensor not in values:
        raise InvalidInput(
            f"{describe(node)}: input {position} is tensor {tensor!r}, which is computed from graph "
            "inputs; it must be constant"
        )
    return values[tensor]


COMPILE_TIME: Mapping[str, Callable[[Node, Types, Values, ImportLimits], Array]] = {
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "Shape": _shape,
    "Size": _size,
}
"""Operator -> its one result, from the types and known values of tensors."""
