"""`/v1/jobs/{id}/trials` and `/v1/trials/{id}`: what was tried, and what is needed to build and run it elsewhere."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from autosched.records.record import job_id_of
from autosched.wire.page import DEFAULT_LIMIT, MAX_LIMIT, PageDocument
from autosched.wire.trial import (
    TrialDetail,
    TrialDocument,
    toolchain_document,
    trial_detail,
    trial_document,
)
from autosched_api.answers import PathKey, answer, service_of
from autosched_api.cursors import cut, page_of
from autosched_api.documented import problems
from autosched_api.problems import Problem
from autosched_api.routes.callers import Reader
from autosched_api.routes.jobs import owned
from autosched_api.service import Store

router = APIRouter(prefix="/v1", tags=["trials"])


class PageQuery(BaseModel):
    """Where a list goes on, and how far."""

    model_config = ConfigDict(extra="forbid")

    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    cursor: Annotated[str, Field(max_length=200)] | None = None


@router.get(
    "/jobs/{job_id}/trials",
    response_model=PageDocument[TrialDocument],
    responses=problems("not-found", "bad-cursor"),
)
async def list_trials(
    request: Request, caller: Reader, job_id: PathKey, query: Annotated[PageQuery, Query()]
) -> Response:
    """A job's trials by task and number."""
    service = service_of(request)
    await owned(service, caller, job_id)
    page = page_of("trial", query.limit, query.cursor)
    if page.after is not None and not page.after.startswith(f"{job_id}."):
        raise Problem("bad-cursor", "the cursor is of another job")
    found = await service.run(lambda store: store.list_trials(job_id, page))
    items, following = cut("trial", found, [t.id for t in found], query.limit)
    documents = [trial_document(t) for t in items]
    return answer(PageDocument[TrialDocument](items=documents, next=following))


@router.get("/trials/{trial_id}", response_model=TrialDetail, responses=problems("not-found"))
async def show(request: Request, caller: Reader, trial_id: PathKey) -> Response:
    """One trial with its task, target, toolchain and every run of it."""
    found = await service_of(request).run(lambda store: _read(store, trial_id))
    if found is None or not caller.sees(found[0]):
        raise Problem("not-found", f"there is no trial {trial_id}")
    return answer(found[1])


def _read(store: Store, trial_id: str) -> tuple[str | None, TrialDetail] | None:
    """The owner (None: a local command's) and the trial."""
    trial = store.trial(trial_id)
    job = None if trial is None else store.job(job_id_of(trial.task_id))
    if trial is None or job is None:
        return None
    submitted = store.submitted(job.id)
    keys = job.spec
    detail = trial_detail(
        trial,
        dict(job.tasks)[trial.task_id],
        (keys.target_key, dict(store.target(keys.target_key) or {})),
        toolchain_document(keys.toolchain_key, dict(store.toolchain(keys.toolchain_key) or {})),
        store.measurements(trial_id),
    )
    return None if submitted is None else submitted.owner, detail
