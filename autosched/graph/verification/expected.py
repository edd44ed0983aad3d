"""Expected tensors of a model: those shipped with it, or a directory in the form of ONNX test data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from autosched.errors import InvalidInput
from autosched.graph.graph import Array, Graph, TensorType
from autosched.graph.importers.protobuf import read_tensor
from autosched.graph.limits import DEFAULT_LIMITS
from autosched.te.dtype import is_float, numpy_dtype

DATA_FILE = re.compile(r"(input|output)_(\d+)\.pb")


@dataclass(frozen=True)
class ExpectedTensors:
    """Inputs and the outputs they must give, by tensor name."""

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]


def shipped_tensors(graph: Graph, outputs: tuple[bytes, ...]) -> ExpectedTensors:
    """The test of a model shipped with onnx: its outputs belong to inputs that rise evenly from 0 to 1."""
    inputs = {name: rising(graph.types[name]) for name in graph.inputs}
    arrays = [_tensor(data, f"output {i}") for i, data in enumerate(outputs)]
    return ExpectedTensors(inputs, _matched(graph.outputs, arrays, "output"))


def read_data_set(directory: Path, graph: Graph) -> ExpectedTensors:
    """`input_N.pb` and `output_N.pb` of a directory, N counting the graph's inputs and outputs."""
    if not directory.is_dir():
        raise InvalidInput(f"{directory} is no directory of test data")
    found: dict[str, dict[int, Array]] = {"input": {}, "output": {}}
    for path in sorted(directory.iterdir()):
        match = DATA_FILE.fullmatch(path.name)
        if match:
            found[match[1]][int(match[2])] = _tensor(path.read_bytes(), path.name)
    inputs = [found["input"][i] for i in sorted(found["input"])]
    outputs = [found["output"][i] for i in sorted(found["output"])]
    return ExpectedTensors(
        _matched(graph.inputs, inputs, "input"), _matched(graph.outputs, outputs, "output")
    )


def rising(kind: TensorType) -> Array:
    """0, 1/n, 2/n, ... in row-major order, the input of onnx's own model tests (zeros for integer tensors)."""
    if not is_float(kind.dtype):
        return np.zeros(kind.shape, numpy_dtype(kind.dtype))
    values = np.arange(kind.elements).reshape(kind.shape) / max(1, kind.elements)
    return values.astype(numpy_dtype(kind.dtype))


def _tensor(data: bytes, name: str) -> Array:
    try:
        message = onnx.TensorProto.FromString(data)
    except DecodeError as error:
        raise InvalidInput(f"{name} is no ONNX tensor: {error}") from error
    return read_tensor(message, name, DEFAULT_LIMITS)


def _matched(names: tuple[str, ...], arrays: list[Array], what: str) -> dict[str, Array]:
    if len(arrays) != len(names):
        raise InvalidInput(f"the model has {len(names)} {what}s, the data holds {len(arrays)}")
    return dict(zip(names, arrays, strict=True))
