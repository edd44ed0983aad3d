"""`/v1/targets` and `/v1/workers`: where jobs can run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from autosched.jobs.workers import Worker
from autosched.target.target import Target
from autosched.wire.machine import TargetDocument, WorkerDocument, can_measure, worker_document
from autosched.wire.page import PageDocument
from autosched_api.answers import answer, service_of
from autosched_api.documented import problems
from autosched_api.resolve import names_of, registered, stored_fields, target_of
from autosched_api.routes.callers import Reader

router = APIRouter(prefix="/v1", tags=["machines"])


@router.get("/targets", response_model=PageDocument[TargetDocument], responses=problems())
async def targets(request: Request, caller: Reader) -> Response:
    """The targets that workers have or had, all in one page: there are as many as kinds of machines."""
    service = service_of(request)
    workers = await service.known_workers()
    known = registered(workers)
    measured = await service.run(lambda store: {key: dict(store.calibration(key)) for key in known})
    now = datetime.now(UTC)
    items = [
        _document(target, [w for w in workers if target_of(w) == target], measured[key], now)
        for key, (_, target) in known.items()
    ]
    return answer(PageDocument[TargetDocument](items=items, next=None))


@router.get("/workers", response_model=PageDocument[WorkerDocument], responses=problems())
async def workers(request: Request, caller: Reader) -> Response:
    """Every worker there ever was, latest first, all in one page."""
    service = service_of(request)
    known = await service.known_workers()
    keys = {w.target_key for w in known}
    measured = await service.run(lambda store: {key: store.calibration(key) for key in keys})
    now = datetime.now(UTC)
    items = [worker_document(w, measured[w.target_key], now) for w in known]
    return answer(PageDocument[WorkerDocument](items=items, next=None))


def _document(
    target: Target, workers: Sequence[Worker], measured: dict[str, float], now: datetime
) -> TargetDocument:
    return TargetDocument(
        key=target.key,
        names=names_of(target),
        fields=stored_fields(target),
        max_threads=target.threads,
        workers=len(workers),
        available=any(can_measure(w, now) for w in workers),
        seen_at=max((w.seen_at for w in workers if w.seen_at is not None), default=None),
        calibration=measured,
    )
