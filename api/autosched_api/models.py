"""What a JSON request names as its model, ready to be read elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from autosched.measure.messages import memory_file
from autosched_api.importing import ToImport
from autosched_api.problems import refused_field

TABLES = ("onnx", "suite")
"""Schemes of `source`: what stands behind the colon is looked up in a shipped table, never opened."""


@contextmanager
def model_of(source: str | None, graph: Mapping[str, Any] | None) -> Iterator[ToImport]:
    """One of the two, open for as long as the block runs. Problem: neither, or a source that is in no table."""
    if graph is not None:
        file = memory_file("autosched-graph", [json.dumps(graph).encode()])
        try:
            yield ToImport("graph", file=file)
        finally:
            os.close(file)
        return
    if source is None:
        raise refused_field(
            "", "missing", None, "one of source, graph and an uploaded model is needed"
        )
    scheme, colon, _ = source.partition(":")
    if not colon or scheme not in TABLES:
        raise refused_field(
            "/source",
            "table_source",
            source,
            "a source is onnx:NAME or suite:PATTERN, never a file",
        )
    yield ToImport("source", source)
