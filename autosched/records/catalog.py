"""The Catalog protocol: what is asked of a store by those who look things up, and never write.

Lookup at deployment, `autosched trial`, `best` and the service read through it. Keys and ids that are not there answer
None or an empty tuple; nothing is created by asking.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from autosched.records.record import Trial
from autosched.records.store import BestRecord, Job, MeasurementRow, Relative


class Catalog(Protocol):
    """Read access by key. `target` and `toolchain` answer the fields `open_job` was given."""

    def job(self, job_id: str) -> Job | None: ...

    def jobs(self, *, limit: int = 50) -> tuple[Job, ...]:
        """Newest first; `history` is left empty here, as it may be long."""
        ...

    def trial(self, trial_id: str) -> Trial | None: ...

    def measurements(self, trial_id: str) -> tuple[MeasurementRow, ...]:
        """Every run of the trial: search, then confirmations and replays as they came."""
        ...

    def target(self, target_key: str) -> Mapping[str, Any] | None: ...

    def toolchain(self, toolchain_key: str) -> Mapping[str, Any] | None: ...

    def calibration(self, target_key: str) -> Mapping[str, float]:
        """The best value seen of each measured number of the target."""
        ...

    def workload_text(self, workload_key: str) -> str | None: ...

    def best(
        self, workload_key: str, target_key: str | None = None, toolchain_key: str | None = None
    ) -> tuple[BestRecord, ...]:
        """Confirmed winners of the workload, filtered where a key is given."""
        ...

    def family_best(
        self, family_key: str, *, log2_size: float = 0.0, limit: int = 100
    ) -> tuple[Relative, ...]:
        """Confirmed winners of the workloads that differ in extents alone, at most `limit`: those nearest in size, by
        `family.log2_size`, first."""
        ...
