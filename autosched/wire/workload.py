"""A stored workload: what `/v1/workloads/{key}` answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from autosched.records.family import family_key
from autosched.records.store import BestRecord
from autosched.wire.key import Key, Time
from autosched.wire.number import Number, microseconds


class WinnerDocument(BaseModel):
    """The confirmed winner on a target with a toolchain; both times are of one side-by-side run."""

    target_key: Key
    toolchain_key: Key
    trial: Key
    derivation: list[dict[str, Any]]
    values: dict[str, int]
    default_us: Number
    median_us: Number
    measured_at: Time


class StoredWorkload(BaseModel):
    """`text` is the canonical form that the key is made of; workloads of one family differ in extents alone."""

    workload_key: Key
    family_key: Key
    text: str
    winners: list[WinnerDocument]


def stored_workload(key: str, text: str, winners: Sequence[BestRecord]) -> StoredWorkload:
    return StoredWorkload(
        workload_key=key,
        family_key=family_key(text),
        text=text,
        winners=[_winner(best) for best in winners],
    )


def _winner(best: BestRecord) -> WinnerDocument:
    return WinnerDocument(
        target_key=best.target_key,
        toolchain_key=best.toolchain_key,
        trial=best.trial_id,
        derivation=[dict(step) for step in best.candidate.derivation],
        values=dict(best.candidate.values),
        default_us=microseconds(best.default_seconds),
        median_us=microseconds(best.timing.median_seconds),
        measured_at=best.measured_at,
    )
