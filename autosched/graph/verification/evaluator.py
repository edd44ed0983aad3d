"""onnx's ReferenceEvaluator as the independent meaning of a model: every tensor by name.

Where it departs from what an operator's version specifies, the operator is replaced by its specification:
  - batch-norm below opset 14 with one output is inference; the evaluator blends in the statistics of the batch;
  - softmax below opset 13 works on two dimensions, split at `axis` (default 1); the evaluator takes the axis alone,
    by default the last;
  - local response normalization is computed for as many channels as the batch has images.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from autosched.graph.graph import Array
from autosched.graph.importers.onnx import ONNX_DOMAINS


class BatchNormalization(OpRun):
    """y = scale * (x - mean) / sqrt(var + epsilon) + bias, channels along axis 1."""

    op_domain = ""

    def _run(
        self, x: Array, scale: Array, bias: Array, *statistics: Array, **attributes: Any
    ) -> tuple[Array]:
        shape = (-1,) + (1,) * (x.ndim - 2)
        mean, variance = (s.reshape(shape) for s in statistics)
        deviation = np.sqrt(variance + (attributes.get("epsilon") or 0.0))
        y = scale.reshape(shape) * (x - mean) / deviation + bias.reshape(shape)
        return (y.astype(x.dtype),)


def _two_dimensional(node: onnx.NodeProto, x: Array) -> Array:
    axis = next((a.i for a in node.attribute if a.name == "axis"), 1) % max(1, x.ndim)
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


class Softmax(OpRun):
    """exp(x - max) / sum(exp(x - max)) over the second of two dimensions."""

    op_domain = ""

    def _run(self, x: Array, **attributes: Any) -> tuple[Array]:
        rows = _two_dimensional(self.onnx_node, x)
        powers = np.exp(rows - rows.max(axis=1, keepdims=True))
        return ((powers / powers.sum(axis=1, keepdims=True)).reshape(x.shape),)


class LogSoftmax(OpRun):
    """x - max - log(sum(exp(x - max))) over the second of two dimensions."""

    op_domain = ""

    def _run(self, x: Array, **attributes: Any) -> tuple[Array]:
        rows = _two_dimensional(self.onnx_node, x)
        shifted = rows - rows.max(axis=1, keepdims=True)
        total = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return ((shifted - total).reshape(x.shape),)


class LRN(OpRun):
    """x / (bias + alpha / size * sum of squares over `size` channels around)^beta."""

    op_domain = ""

    def _run(self, x: Array, **attributes: Any) -> tuple[Array]:
        size, channels = attributes["size"], x.shape[1]
        squares = np.zeros_like(x)
        for c in range(channels):
            first = max(0, c - (size - 1) // 2)
            squares[:, c] = (x[:, first : c + size // 2 + 1] ** 2).sum(axis=1)
        base = attributes["bias"] + attributes["alpha"] / size * squares
        return ((x / base ** attributes["beta"]).astype(x.dtype),)


EVERY_OPSET = 1 << 30
REPLACED: tuple[tuple[int, type[OpRun]], ...] = (
    (14, BatchNormalization),
    (13, Softmax),
    (13, LogSoftmax),
    (EVERY_OPSET, LRN),
)
"""(First opset that the evaluator follows, the operator below it)."""


def evaluate_onnx(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Every tensor of a model, intermediate ones too, for inputs by name."""
    opset = next(e.version for e in model.opset_import if e.domain in ONNX_DOMAINS)
    replaced = [operator for first, operator in REPLACED if opset < first]
    evaluator = ReferenceEvaluator(model, new_ops=replaced)
    values = evaluator.run(None, dict(inputs), intermediate=True)
    assert isinstance(values, dict)
    return {name: np.asarray(array) for name, array in values.items() if array is not None}
