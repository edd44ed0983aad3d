"""What a model learns from: feature rows with normalized labels, grouped by task.

Labels are throughput over the best of the group, in (0, 1]: finite, and comparable between tasks of any size. Failed
candidates have no label; they speak through a separate validity flag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from autosched.features.table import FEATURES, schema
from autosched.records.outcome import REPEATABLE, Outcome
from autosched.records.store import HistoryRecord

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Examples:
    """`features` float32 [n, F]; `labels` [n], NaN where the candidate failed; `groups` [n], a number a task."""

    features: Array
    labels: Array
    groups: Array

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def valid(self) -> Array:
        return np.isfinite(self.labels)


def make_examples(features: Array, seconds: Array, groups: Array) -> Examples:
    """Examples from measured seconds [n] (NaN: failed) of rows in numbered groups [n]."""
    labels = np.full(len(seconds), np.nan)
    for group in np.unique(groups):
        mine = (groups == group) & np.isfinite(seconds)
        if mine.any():
            labels[mine] = seconds[mine].min() / seconds[mine]
    return Examples(np.ascontiguousarray(features, np.float32), labels, np.asarray(groups))


def from_history(
    records: Sequence[HistoryRecord], *, workload_key: str = "", most: int = 1500
) -> Examples:
    """At most `most` records whose features follow today's table: those of the workload first, then the newest. A group
    is a workload on a target."""
    today = schema()
    usable = [
        r
        for r in records
        if r.features_schema == today
        and len(r.features) == len(FEATURES)
        and r.outcome not in REPEATABLE
    ]
    kept = sorted(usable, key=lambda r: r.workload_key != workload_key)[:most]
    numbers: dict[tuple[str, str], int] = {}
    groups = [numbers.setdefault((r.workload_key, r.target_key), len(numbers)) for r in kept]
    seconds = [
        r.median_seconds if r.outcome is Outcome.OK and r.median_seconds else np.nan for r in kept
    ]
    features = np.array([r.features for r in kept], np.float32).reshape(len(kept), len(FEATURES))
    return make_examples(features, np.array(seconds, np.float64), np.array(groups, np.int64))


def joined(first: Examples, second: Examples) -> Examples:
    """Both, the groups of the second apart from those of the first."""
    apart = int(first.groups.max()) + 1 if len(first) else 0
    return Examples(
        np.concatenate([first.features, second.features]),
        np.concatenate([first.labels, second.labels]),
        np.concatenate([first.groups, second.groups + apart]),
    )
