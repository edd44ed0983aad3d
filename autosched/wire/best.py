"""Answers of the best-config database: what `autosched best --json` prints and `GET /v1/best` answers."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from autosched.records.lookup import Match
from autosched.te.workload import text_key
from autosched.wire.key import Key
from autosched.wire.number import Number
from autosched.wire.strict import Request, Whole
from autosched.wire.submission import Source, TargetName

MAX_WORKLOADS = 500
MAX_TEXT_CHARACTERS = 1 << 20
LONG_NUMBER = re.compile(r"\d{20}")
"""Longer than any extent; canonical texts hold none, a stranger's may."""

WorkloadText = Annotated[str, Field(max_length=MAX_TEXT_CHARACTERS)]


class BestDocument(BaseModel):
    """The answer for one task. `reason` says what differs where the match is not exact; `source_digest` is that of the
    text that was timed, so that whoever generates it anew knows whether it is the same."""

    name: str
    workload_key: str
    match: Match
    reason: str
    trial: str | None
    derivation: list[dict[str, Any]]
    values: dict[str, int]
    median_us: Number
    measured_at: datetime | None
    source_digest: str | None = None


class BestDocuments(BaseModel):
    """The answers for every task of a source."""

    tasks: list[BestDocument]


class BestRequest(Request):
    """Which winners are asked for: those of a graph's or a source's tasks, or of workloads by key. `texts` are the
    canonical texts of the workloads, in their order: with them, one that was never stored finds winners of near shapes."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"source": "onnx:light_squeezenet", "target": "x86-64-avx2"}]
        }
    )

    source: Source | None = None
    graph: dict[str, Any] | None = None
    workloads: Annotated[list[Key], Field(min_length=1, max_length=MAX_WORKLOADS)] | None = None
    texts: Annotated[list[WorkloadText], Field(max_length=MAX_WORKLOADS)] | None = None
    target: TargetName | None = None
    threads: Annotated[Whole, Field(ge=1, le=4096)] | None = None
    toolchain: Key | None = None

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        given = [n for n in ("source", "graph", "workloads") if getattr(self, n) is not None]
        if len(given) != 1:
            raise ValueError(f"exactly one of source, graph and workloads is needed, not {given}")
        return self

    @model_validator(mode="after")
    def _texts_are_those_of_the_keys(self) -> Self:
        if self.texts is None:
            return self
        if [text_key(t) for t in self.texts] != self.workloads:
            raise ValueError("texts must be those of the workloads, whose keys are their digests")
        if any(LONG_NUMBER.search(t) for t in self.texts):
            raise ValueError("texts hold a number that is no extent")
        return self
