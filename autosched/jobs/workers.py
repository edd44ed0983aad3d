"""Who measures: workers, what they offer, and whether a job's target is among it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

WorkerState = Literal["active", "draining", "quarantined", "gone"]
"""active: it takes work; draining: it ends what it has; quarantined: it is there and cannot be used, its note says why;
gone: it has said good-bye."""


@dataclass(frozen=True)
class Worker:
    """A process with devices to measure on. `target` are the fields of its host at `max_threads`, the most it runs;
    `versions` of what must agree. `devices` are "HOST/NAME"."""

    id: str
    host: str
    target_key: str
    target: Mapping[str, Any]
    max_threads: int
    toolchain_key: str
    toolchain: Mapping[str, Any]
    devices: tuple[str, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    state: WorkerState = "active"
    note: str = ""
    started_at: datetime | None = None
    seen_at: datetime | None = None


class WorkerRegistry(Protocol):
    """Workers are never forgotten by themselves: one not seen for `ALIVE_SECONDS` is away."""

    def register(self, worker: Worker) -> None: ...

    def seen(self, worker_id: str, state: WorkerState = "active") -> None:
        """A heartbeat."""
        ...

    def workers(self, *, alive_only: bool = False) -> Sequence[Worker]:
        """Latest first."""
        ...


DRIVER = "driver"
"""Among a worker's versions: that of its GPUs' driver, where it has GPUs."""

ALIVE_SECONDS = 60.0
