"""Where jobs run: what `/v1/targets` and `/v1/workers` answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, get_args

from pydantic import BaseModel

from autosched.jobs.workers import ALIVE_SECONDS, DRIVER, Worker, WorkerState
from autosched.wire.key import Key, Time, words
from autosched.wire.trial import ToolchainDocument, toolchain_document

WorkerWord = Annotated[str, words(get_args(WorkerState))]


class TargetDocument(BaseModel):
    """A target that workers have, or had: `fields` at `max_threads`, the most they run. `names` are those of the shipped
    targets that it equals. A job may ask for fewer threads."""

    key: Key
    names: list[str]
    fields: dict[str, Any]
    max_threads: int
    workers: int
    available: bool
    seen_at: Time | None = None
    calibration: dict[str, float] = {}


class WorkerDocument(BaseModel):
    """A process with devices to measure on. `alive`: it was heard of in the last minute. `target`: what its host is, at
    `max_threads`; `calibration`: the best that such hosts were measured to reach. `driver`: of its GPUs."""

    id: Key
    host: str
    state: WorkerWord
    alive: bool
    note: str = ""
    target_key: Key
    target: dict[str, Any] = {}
    max_threads: int
    calibration: dict[str, float] = {}
    driver: str | None = None
    toolchain: ToolchainDocument
    devices: list[str]
    versions: dict[str, str]
    started_at: Time | None = None
    seen_at: Time | None = None


def is_alive(worker: Worker, now: datetime) -> bool:
    if worker.seen_at is None or worker.state == "gone":
        return False
    return now - worker.seen_at <= timedelta(seconds=ALIVE_SECONDS)


def can_measure(worker: Worker, now: datetime) -> bool:
    return is_alive(worker, now) and worker.state != "quarantined"


def worker_document(
    worker: Worker, calibration: Mapping[str, float], now: datetime
) -> WorkerDocument:
    return WorkerDocument(
        id=worker.id,
        host=worker.host,
        state=worker.state,
        alive=is_alive(worker, now),
        note=worker.note,
        target_key=worker.target_key,
        target=dict(worker.target),
        max_threads=worker.max_threads,
        calibration=dict(calibration),
        driver=worker.versions.get(DRIVER),
        toolchain=toolchain_document(worker.toolchain_key, dict(worker.toolchain)),
        devices=list(worker.devices),
        versions=dict(worker.versions),
        started_at=worker.started_at,
        seen_at=worker.seen_at,
    )
