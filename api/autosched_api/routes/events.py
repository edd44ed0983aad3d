"""`/v1/jobs/{id}/events`: what happens in a job, as it happens."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from autosched_api.answers import PathKey, service_of
from autosched_api.documented import problems
from autosched_api.routes.callers import Reader
from autosched_api.routes.jobs import owned
from autosched_api.streams import EventStream, follow, is_beyond

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

MOST_NUMBER = 10**12

EXAMPLE = (
    'id: 7\nevent: best\ndata: {"job": "019a7c1e-7b1a-7cc3-9d6e-0f6a5b4c3d2e", '
    '"at": "2026-01-31T12:00:00.000000Z", "task": "Conv+Relu 1x64x56x56 n4", '
    '"trial": "019a7c1e-7b1a-7cc3-9d6e-0f6a5b4c3d2e.0.12", "default_us": 120.5, "best_us": 91.5}\n\n'
)

EVENT = {
    "type": "object",
    "description": "One event; `data` is the JSON of JobData, TaskData, ProgressData, BestData or EndData.",
    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
}
STREAM = {
    "description": "Events of the types job, task, progress, best, end and reset; more may come. "
    "A comment every 15 s while nothing happens; the stream is closed after `end`.",
    "content": {"text/event-stream": {"schema": EVENT, "example": EXAMPLE}},
}
NOTHING = {"description": "The job has ended, and nothing happened after the event that was named."}

LastEventId = Annotated[
    int | None,
    Header(alias="Last-Event-ID", ge=0, le=MOST_NUMBER, description="go on after this event"),
]


@router.get(
    "/{job_id}/events",
    response_class=Response,
    responses={200: STREAM, 204: NOTHING, **problems("not-found", "quota-exceeded", "busy")},
)
async def events(
    request: Request, caller: Reader, job_id: PathKey, last_event_id: LastEventId = None
) -> Response:
    """Follows a job, from its first event or after the one that is named. A client that names one which the job never had
    gets a `reset`, and then all there are."""
    service = service_of(request)
    submitted = await owned(service, caller, job_id)
    after = last_event_id or 0
    if await is_beyond(service, job_id, after):
        return EventStream(service, caller.owner, follow(service, job_id, None, is_reset=True))
    if submitted.is_terminal and not await service.run(
        lambda store: store.events(job_id, after=after, limit=1)
    ):
        return Response(status_code=204)
    return EventStream(service, caller.owner, follow(service, job_id, last_event_id))
