"""`/v1/jobs`: submit, list, show, cancel, resume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from autosched.jobs.queue import Waiting
from autosched.jobs.record import Failure, JobFilter, SetupKey, Submitted, TaskStanding
from autosched.plain import PLAIN_PATTERN
from autosched.records.store import JobState
from autosched.wire.job import JobDocument, job_document
from autosched.wire.key import KEY_PATTERN
from autosched.wire.page import DEFAULT_LIMIT, MAX_LIMIT, PageDocument
from autosched.wire.submission import MAX_LABEL_CHARACTERS, JobRequest, ResumeRequest
from autosched_api.access import Caller
from autosched_api.answers import PathKey, answer, service_of
from autosched_api.bodies import parse_form, read_body, require_json
from autosched_api.cursors import cut, page_of
from autosched_api.documented import job_body, json_body, problems
from autosched_api.pending import WAITING_SHOWN, pending_reason
from autosched_api.problems import Problem
from autosched_api.routes.callers import Reader, Submitter
from autosched_api.service import Service, Store
from autosched_api.settings import Settings
from autosched_api.submitting import submit as submit_job
from autosched_api.submitting import wanted_job

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=KEY_PATTERN,
        description="names the request for 7 days: the same body gets the same job, another 409",
    ),
]


LABEL_PATTERN = f"{KEY_PATTERN[:-1]}:{PLAIN_PATTERN[1:-2]}{{0,{MAX_LABEL_CHARACTERS}}}$"


class ListQuery(BaseModel):
    """Filters and page of a list of jobs; `label` is NAME:VALUE."""

    model_config = ConfigDict(extra="forbid")

    state: Literal[*JobState.__args__] | None = None  # type: ignore[valid-type]
    label: Annotated[str, Field(pattern=LABEL_PATTERN)] | None = None
    owner: Annotated[str, Field(pattern=KEY_PATTERN)] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    cursor: Annotated[str, Field(max_length=200)] | None = None


@router.post(
    "",
    status_code=202,
    response_model=JobDocument,
    responses=problems(
        "idempotency-key-reused", "too-large", "unsupported-media-type", "no-such-target",
        "import-limit", "import-failed", "quota-exceeded", "busy",
    ),
    openapi_extra=job_body(JobRequest),
)  # fmt: skip
async def submit(
    request: Request, caller: Submitter, idempotency_key: IdempotencyKey = None
) -> Response:
    """Submits a graph, a source of the shipped tables or an uploaded model. A target that is away makes the job wait."""
    service = service_of(request)
    async with wanted_job(request, service, caller.owner) as wanted:
        submitted, is_new = await submit_job(service, wanted, idempotency_key)
    request.scope.setdefault("state", {})["job_id"] = submitted.id
    headers = {"Location": f"/v1/jobs/{submitted.id}"}
    if not is_new:
        headers["Idempotency-Replayed"] = "true"
    return answer((await _documents(service, [submitted]))[0], 202, headers)


@router.get("", response_model=PageDocument[JobDocument], responses=problems("bad-cursor"))
async def list_jobs(
    request: Request, caller: Reader, query: Annotated[ListQuery, Query()]
) -> Response:
    """One's own jobs, an admin's everybody's, newest first; without their failures."""
    service = service_of(request)
    if query.owner is not None and not caller.sees(query.owner):
        raise Problem("forbidden", "jobs of another owner are for admins")
    name, _, value = (query.label or "").partition(":")
    wanted = JobFilter(
        owner=query.owner or (None if caller.is_admin else caller.owner),
        state=query.state,
        label=(name, value) if query.label is not None else None,
    )
    page = page_of("job", query.limit, query.cursor)
    found = await service.run(lambda store: store.list_submitted(wanted, page))
    items, following = cut("job", found, [s.id for s in found], query.limit)
    documents = await _documents(service, items)
    return answer(PageDocument[JobDocument](items=documents, next=following))


@router.get("/{job_id}", response_model=JobDocument, responses=problems("not-found"))
async def show(request: Request, caller: Reader, job_id: PathKey) -> Response:
    """One job with its tasks and failures."""
    service = service_of(request)
    submitted = await owned(service, caller, job_id)
    failures = await service.run(lambda store: store.failures(job_id))
    return answer((await _documents(service, [submitted], failures))[0])


@router.post(
    "/{job_id}/cancel",
    status_code=202,
    response_model=JobDocument,
    responses=problems("not-found", "wrong-state"),
)
async def cancel(request: Request, caller: Submitter, job_id: PathKey) -> Response:
    """Ends a job, or asks its dispatcher to; once more changes nothing."""
    service = service_of(request)
    await owned(service, caller, job_id)
    submitted = await service.run(lambda store: store.cancel(job_id))
    return answer((await _documents(service, [submitted]))[0], 202)


@router.post(
    "/{job_id}/resume",
    status_code=202,
    response_model=JobDocument,
    responses=problems("not-found", "wrong-state", "too-large", "unsupported-media-type"),
    openapi_extra=json_body(ResumeRequest, required=False),
)
async def resume(request: Request, caller: Submitter, job_id: PathKey) -> Response:
    """Puts a failed or cancelled job back into the queue, with new totals where they are given."""
    service = service_of(request)
    form = await _resume_form(request, service.settings)
    await owned(service, caller, job_id)
    submitted = await service.run(
        lambda store: store.resume(job_id, trials=form.trials, seconds=form.seconds)
    )
    return answer((await _documents(service, [submitted]))[0], 202)


async def _resume_form(request: Request, settings: Settings) -> ResumeRequest:
    """The form; an empty body changes no total."""
    body = await read_body(request, settings)
    if not body:
        return ResumeRequest()
    require_json(request)
    return parse_form(body, ResumeRequest)


async def owned(service: Service, caller: Caller, job_id: str) -> Submitted:
    """A job that the caller may see. Problem: there is none, or it is another owner's, which looks the same."""
    found = await service.run(lambda store: store.submitted(job_id))
    if found is None or not caller.sees(found.owner):
        raise Problem("not-found", f"there is no job {job_id}")
    return found


async def _documents(
    service: Service, submitted: Sequence[Submitted], failures: Sequence[Failure] = ()
) -> list[JobDocument]:
    workers = await service.known_workers()
    now = datetime.now(UTC)
    standings, queue = await service.run(lambda store: _read(store, submitted))
    return [
        job_document(s, standings.get(s.id, ()), failures, pending_reason(s, workers, queue, now))
        for s in submitted
    ]


def _read(
    store: Store, submitted: Sequence[Submitted]
) -> tuple[Mapping[str, tuple[TaskStanding, ...]], Mapping[SetupKey, Sequence[Waiting]]]:
    """Tasks by job, and by setup those who wait where any of the jobs does."""
    setups = {s.setup for s in submitted if s.state == "queued"}
    queue = {setup: store.waiting([setup], limit=WAITING_SHOWN) for setup in setups}
    return store.standings([s.id for s in submitted]), queue
