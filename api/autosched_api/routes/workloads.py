"""`/v1/workloads/{key}`: a stored workload and its winners."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from autosched.wire.workload import StoredWorkload, stored_workload
from autosched_api.answers import PathKey, answer, service_of
from autosched_api.documented import problems
from autosched_api.problems import Problem
from autosched_api.routes.callers import Reader
from autosched_api.service import Store

router = APIRouter(prefix="/v1", tags=["workloads"])


@router.get("/workloads/{key}", response_model=StoredWorkload, responses=problems("not-found"))
async def show(request: Request, caller: Reader, key: PathKey) -> Response:
    """The canonical text behind a key, and the confirmed winner of each target and toolchain."""

    def read(store: Store) -> StoredWorkload | None:
        text = store.workload_text(key)
        return None if text is None else stored_workload(key, text, store.best(key))

    found = await service_of(request).run(read)
    if found is None:
        raise Problem("not-found", f"there is no workload {key}")
    return answer(found)
