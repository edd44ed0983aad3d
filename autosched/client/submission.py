"""A job to be: what a user has in hand (a name, a graph, a file) as the request that submits it.

suite:C2D/3@1, onnx:NAME      ->  JSON with the name; the service looks it up in its tables
Graph, graph.json             ->  JSON with the graph
model.onnx                    ->  a form whose part `model` is streamed from the disk
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from autosched.client.calls import given
from autosched.client.exchange import Call
from autosched.client.steps import Request
from autosched.errors import InvalidInput
from autosched.wire.job import JobDocument
from autosched.wire.key import KEY_PATTERN

if TYPE_CHECKING:
    from autosched.graph.graph import Graph

TABLE_NAME = re.compile(r"[a-z]+:")


def submit(
    source: str | Path | Graph,
    *,
    trials: int,
    seconds: float | None = None,
    target: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    priority: int = 0,
    policy: str | None = None,
    queue_seconds: float | None = None,
    labels: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Call[JobDocument]:
    """Submits a job of `trials` candidates over all tasks. `seconds` bound its time on devices, `queue_seconds` the wait
    for a worker. It carries an idempotency key (a fresh one, unless given), so that however often it is sent, there is
    one job. InvalidInput: a source that cannot be read. InvalidRequest: what the service refuses."""
    body = given(
        trials=trials,
        seconds=seconds,
        target=target,
        threads=threads,
        seed=seed,
        priority=priority,
        policy=policy,
        queue_seconds=queue_seconds,
        labels=None if labels is None else dict(labels),
    )
    model, origin = _origin(source)
    key = uuid4().hex if idempotency_key is None else idempotency_key
    if not re.fullmatch(KEY_PATTERN, key):
        raise InvalidInput(
            f"idempotency key {key!r}: must be 1 to 80 letters, digits, '.', '_', '~' and '-'"
        )
    request = Request(
        "POST", "v1/jobs", body={**body, **origin}, model=model, headers={"Idempotency-Key": key}
    )
    return Call(request, JobDocument.model_validate)


def _origin(source: str | Path | Graph) -> tuple[Path | None, dict[str, Any]]:
    """The file to stream, if any, and the fields that name the source."""
    if isinstance(source, str) and TABLE_NAME.match(source):
        return None, {"source": source}
    if isinstance(source, (str, Path)):
        return _file(Path(source))
    from autosched.graph.importers.json import export_json

    return None, {"graph": json.loads(export_json(source))}


def _file(path: Path) -> tuple[Path | None, dict[str, Any]]:
    suffix = path.suffix.lower()
    if suffix not in {".onnx", ".json"}:
        raise InvalidInput(
            f"source {str(path)!r} is no .onnx or .json file, onnx:NAME or suite:NAME"
        )
    try:
        if suffix == ".onnx":
            with path.open("rb"):
                return path, {}
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise InvalidInput(f"source {str(path)!r} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"source {str(path)!r} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise InvalidInput(f"source {str(path)!r}: a graph is a JSON object")
    return None, {"graph": document}
