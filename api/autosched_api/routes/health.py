"""`/healthz`, `/readyz` and `/metrics`: for whoever keeps the service running."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from autosched.jobs.fair import WINDOW_SECONDS
from autosched.wire.info import HealthDocument
from autosched_api.answers import answer, service_of
from autosched_api.documented import problems
from autosched_api.metrics import Shared
from autosched_api.routes.callers import Reader
from autosched_api.service import Store

router = APIRouter(tags=["operation"])

OPEN = ("bad-request", "foreign-origin", "foreign-host", "internal")
"""Problems of routes that need neither token nor database."""


@router.get("/healthz", response_model=HealthDocument, responses=problems(always=OPEN))
async def healthy(request: Request) -> Response:
    """Whether this process answers."""
    return answer(HealthDocument(status="ok"))


@router.get(
    "/readyz", response_model=HealthDocument, responses=problems("unavailable", "busy", always=OPEN)
)
async def ready(request: Request) -> Response:
    """Whether the database answers, at the schema of this version."""
    await service_of(request).run(lambda store: store.ping())
    return answer(HealthDocument(status="ok"))


METRICS = {
    "description": "Metrics in Prometheus' text format.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}


@router.get("/metrics", response_class=Response, responses={200: METRICS, **problems("busy")})
async def metrics(request: Request, caller: Reader) -> Response:
    """Counters of this process and of what all processes share."""
    service = service_of(request)
    shared = await service.run(_shared)
    return Response(service.metrics.text(shared), media_type=CONTENT_TYPE_LATEST)


def _shared(store: Store) -> Shared:
    used = store.owner_seconds(window_seconds=WINDOW_SECONDS)
    return Shared(store.queue_depth(), store.ended_jobs(), store.counters(), sum(used.values()))
