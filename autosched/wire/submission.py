"""What a client asks of a job: the bodies of `POST /v1/jobs` and of `POST /v1/jobs/{id}/resume`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from autosched.plain import PLAIN_PATTERN
from autosched.wire.key import Key
from autosched.wire.strict import Request, Whole

MAX_TRIALS = 10_000_000
MAX_SECONDS = 366 * 86_400.0
MAX_LABELS = 32
MAX_LABEL_CHARACTERS = 200
MAX_SOURCE_CHARACTERS = 200

Trials = Annotated[Whole, Field(ge=1, le=MAX_TRIALS)]
"""A budget in trials, over all tasks together."""

Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS)]
"""A bound on the time on devices."""

Source = Annotated[str, Field(min_length=1, max_length=MAX_SOURCE_CHARACTERS)]
"""`onnx:NAME` or `suite:PATTERN`: a row of a shipped table, never a path."""

TargetName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._~-]{1,80}$")]
"""A target's content key, or its name."""

LabelText = Annotated[str, Field(max_length=MAX_LABEL_CHARACTERS, pattern=PLAIN_PATTERN)]

EXAMPLE_GRAPH: dict[str, Any] = {
    "autosched_graph": 1,
    "inputs": [{"name": "x", "dtype": "float32", "shape": [8, 64]}],
    "nodes": [
        {"name": "relu", "op": "Relu", "inputs": ["x"], "outputs": ["y"]},
    ],
    "outputs": ["y"],
}
"""The smallest graph that is worth a kernel."""


class JobRequest(Request):
    """A job to be: one of `source` and `graph`, or neither beside an uploaded model. `target` is a key or a name and may
    be left out where one target alone is registered; `threads` default to the most its workers run; `seconds` bound the
    time on devices and `queue_seconds` that until a worker takes it. Higher `priority` comes first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"source": "suite:C2D/3@1", "trials": 64},
                {"graph": EXAMPLE_GRAPH, "trials": 32, "labels": {"team": "vision"}},
            ]
        }
    )

    source: Source | None = None
    graph: dict[str, Any] | None = None
    trials: Trials
    seconds: Seconds | None = None
    target: TargetName | None = None
    threads: Annotated[Whole, Field(ge=1, le=4096)] | None = None
    seed: Annotated[Whole, Field(ge=0, lt=1 << 63)] = 0
    policy: Literal["evolutionary", "random"] = "evolutionary"
    priority: Annotated[Whole, Field(ge=-100, le=100)] = 0
    queue_seconds: Seconds | None = None
    labels: Annotated[dict[Key, LabelText], Field(max_length=MAX_LABELS, default_factory=dict)]

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if self.source is not None and self.graph is not None:
            raise ValueError("source and graph exclude each other")
        return self


class ResumeRequest(Request):
    """New totals for a job that failed or was cancelled; what is left out stays as it was."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"trials": 128}]})

    trials: Trials | None = None
    seconds: Seconds | None = None
