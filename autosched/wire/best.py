"""Answers of the best-config database: what `autosched best --json` prints and `GET /v1/best` answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel

from autosched.records.lookup import Match
from autosched.wire.number import Number


class BestDocument(BaseModel):
    """The answer for one task. `reason` says what differs where the match is not exact."""

    name: str
    workload_key: str
    match: Match
    reason: str
    trial: str | None
    derivation: list[dict[str, Any]]
    values: dict[str, int]
    median_us: Number
    measured_at: datetime | None


class BestDocuments(BaseModel):
    """The answers for every task of a source."""

    tasks: list[BestDocument]
