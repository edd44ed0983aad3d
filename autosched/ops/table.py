"""Every operator by its ONNX name, with the meaning it has at opset 17."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from autosched.ops.binary_operators import BINARY_OPERATORS
from autosched.ops.constants import CONSTANT_OPERATORS
from autosched.ops.convolutions import CONVOLUTION_OPERATORS
from autosched.ops.extensions import EXTENSION_OPERATORS
from autosched.ops.matrices import MATRIX_OPERATORS
from autosched.ops.movements import MOVEMENT_OPERATORS
from autosched.ops.normalizations import NORMALIZATION_OPERATORS
from autosched.ops.operator import Operator
from autosched.ops.pools import POOL_OPERATORS
from autosched.ops.reductions import REDUCTION_OPERATORS
from autosched.ops.unary import UNARY_OPERATORS
from autosched.ops.view_operators import VIEW_OPERATORS

OPS: Mapping[str, Operator] = MappingProxyType(
    {
        operator.name: operator
        for family in (
            UNARY_OPERATORS,
            BINARY_OPERATORS,
            REDUCTION_OPERATORS,
            MATRIX_OPERATORS,
            CONVOLUTION_OPERATORS,
            POOL_OPERATORS,
            NORMALIZATION_OPERATORS,
            VIEW_OPERATORS,
            MOVEMENT_OPERATORS,
            EXTENSION_OPERATORS,
            CONSTANT_OPERATORS,
        )
        for operator in family
    }
)
