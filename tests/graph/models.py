"""Small ONNX models for tests, as bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def model_bytes(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Sequence[int | str | None]],
    outputs: Sequence[str],
    initializers: Mapping[str, Any] | None = None,
    opset: int = 17,
) -> bytes:
    """A float32 model; initializers may be arrays."""
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in (initializers or {}).items()]
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(n, FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, FLOAT, None) for n in outputs],
        tensors,
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("custom", 3)]
    return helper.make_model(graph, opset_imports=opsets).SerializeToString()
