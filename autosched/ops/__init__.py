"""Operators: one record each, with attributes, inference, meaning in te, NumPy reference and samples.

In: te alone. Out: `OPS`, the ONNX operators at opset 17 by name, and the named cases of the shipped suite. It must not
know graphs, loops or machines.
"""

from autosched.ops.operator import Attribute, Operator, Sample, TensorType
from autosched.ops.table import OPS

__all__ = ["OPS", "Attribute", "Operator", "Sample", "TensorType"]
