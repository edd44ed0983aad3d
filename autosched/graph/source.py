"""`SOURCE` of the command line and the API: what a user names, found and read.

model.onnx, graph.json    a file
onnx:light_resnet50       a model inside the installed onnx package
suite:C2D/3@1             cases of the shipped suite; `*` matches any text
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from autosched.errors import InvalidInput
from autosched.graph.graph import Graph
from autosched.graph.importers.json import import_json
from autosched.graph.importers.onnx import import_onnx
from autosched.graph.limits import DEFAULT_LIMITS, ImportLimits
from autosched.ops.suite import Case, suite_cases, suite_names

READERS: Mapping[str, Callable[..., Graph]] = {".onnx": import_onnx, ".json": import_json}
"""File suffix -> the importer of its bytes."""


@dataclass(frozen=True)
class ModelSource:
    """A model: its graph as imported, the bytes it came from, and the outputs shipped with it, if any (serialized ONNX
    tensors)."""

    name: str
    graph: Graph = field(repr=False)
    data: bytes = field(repr=False)
    is_onnx: bool
    shipped_outputs: tuple[bytes, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class SuiteSource:
    """Single workloads: cases of the suite in the order of its file."""

    name: str
    cases: tuple[Case, ...] = field(repr=False)


Source = ModelSource | SuiteSource


def load_source(text: str, *, limits: ImportLimits = DEFAULT_LIMITS) -> Source:
    """What `text` names; InvalidInput if there is no such thing or it breaks a rule."""
    scheme, colon, rest = text.partition(":")
    if colon and scheme in TABLES:
        return TABLES[scheme](rest, limits)
    return _file(text, limits)


def is_table_source(text: str) -> bool:
    """Whether `text` is looked up in a table of names, so that it can never become a path."""
    scheme, colon, _ = text.partition(":")
    return bool(colon) and scheme in TABLES


def onnx_model_names() -> tuple[str, ...]:
    """The models that the installed onnx package ships."""
    return tuple(sorted(path.stem for path in _shipped_models().glob("*.onnx")))


def _shipped_models() -> Path:
    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def _onnx_model(name: str, limits: ImportLimits) -> ModelSource:
    if name not in onnx_model_names():
        raise InvalidInput(f"onnx:{name} is unknown; known: {', '.join(onnx_model_names())}")
    data = (_shipped_models() / f"{name}.onnx").read_bytes()
    graph = import_onnx(data, limits=limits)
    paths = [_shipped_models() / f"{name}_output_{i}.pb" for i in range(len(graph.outputs))]
    outputs = tuple(path.read_bytes() for path in paths if path.exists())
    return ModelSource(f"onnx:{name}", graph, data, True, outputs)


def _file(text: str, limits: ImportLimits) -> ModelSource:
    path = Path(text)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidInput(f"source {text!r} is no .onnx or .json file, onnx:NAME or suite:NAME")
    try:
        size = path.stat().st_size
        if size > limits.file_bytes:
            raise InvalidInput(f"{text} has {size} bytes: at most {limits.file_bytes} are allowed")
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"source {text!r} cannot be read: {error.strerror}") from error
    graph = reader(data, limits=limits)
    return ModelSource(path.name, graph, data, path.suffix.lower() == ".onnx")


def _suite(pattern: str, limits: ImportLimits) -> SuiteSource:
    cases = suite_cases()
    return SuiteSource(f"suite:{pattern}", tuple(cases[n] for n in suite_names(pattern)))


TABLES: Mapping[str, Callable[[str, ImportLimits], Source]] = {"onnx": _onnx_model, "suite": _suite}
"""Scheme -> the look-up of what stands behind the colon."""
