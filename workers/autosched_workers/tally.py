"""What a job's process closes, added to the service's counters: trials by outcome, and results that came too late.

Counts are written at most once a second, for a counter is a row that every process writes; a process that is killed
takes the last second's along.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from autosched.jobs.counters import DUPLICATES_DROPPED, trials_counter
from autosched.records.record import Measurement
from autosched.records.store import TuningStore

WRITE_SECONDS = 1.0


class Tally:
    """Counts by name until they are written."""

    def __init__(
        self,
        write: Callable[[Mapping[str, int]], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._now = now
        self._counts: Counter[str] = Counter()
        self._last = now()

    def add(self, name: str) -> None:
        self._counts[name] += 1
        if self._now() - self._last >= WRITE_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self._counts:
            self._write(dict(self._counts))
        self._counts.clear()
        self._last = self._now()


class TalliedStore:
    """A store whose every closed trial is counted, and every result that found its trial closed."""

    def __init__(self, store: TuningStore, tally: Tally) -> None:
        self._store = store
        self._tally = tally

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def close(self, task_id: str, number: int, measurement: Measurement) -> bool:
        """Whether it is the result of an open trial, as it was before."""
        is_first = self._store.close(task_id, number, measurement)
        self._tally.add(trials_counter(measurement.outcome) if is_first else DUPLICATES_DROPPED)
        return is_first
