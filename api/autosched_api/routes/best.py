"""`/v1/best`: the best known configuration of workloads. Nothing is measured; winners are everybody's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from autosched.wire.best import BestDocument, BestDocuments, BestRequest
from autosched.wire.key import KEY_PATTERN
from autosched_api.answers import service_of
from autosched_api.asked import asked_target
from autosched_api.bodies import read_form
from autosched_api.documented import json_body, problems
from autosched_api.lookups import Asked
from autosched_api.models import model_of
from autosched_api.renewing import Found
from autosched_api.routes.callers import Reader

router = APIRouter(prefix="/v1", tags=["best"])

JSON = "application/json"
ThreadCount = Annotated[int, Field(ge=1, le=4096)]
KeyText = Annotated[str, Field(pattern=KEY_PATTERN)]


class BestQuery(BaseModel):
    """One workload by its key; `target` is a key or a name and may be left out where one alone is registered. Without
    `toolchain` any will do."""

    model_config = ConfigDict(extra="forbid")

    workload: KeyText
    target: KeyText | None = None
    threads: ThreadCount | None = None
    toolchain: KeyText | None = None


@router.get("/best", response_model=BestDocument, responses=problems("no-such-target", "busy"))
async def best(request: Request, caller: Reader, query: Annotated[BestQuery, Query()]) -> Response:
    """The best known configuration of one workload: exact, compatible, nearest or default, with the reason."""
    service = service_of(request)
    target = await asked_target(service, query.target, query.threads)
    found = await service.lookups.find(Asked(query.workload, target, query.toolchain))
    service.metrics.looked_up(found.match)
    return Response(found.body, media_type=JSON)


@router.post(
    "/best",
    response_model=BestDocuments,
    responses=problems(
        "too-large", "unsupported-media-type", "no-such-target", "import-limit", "import-failed", "busy"
    ),
    openapi_extra=json_body(BestRequest),
)  # fmt: skip
async def best_of_many(request: Request, caller: Reader) -> Response:
    """One answer a workload, in the order of the keys, or of the tasks of a graph or source."""
    service = service_of(request)
    form = await read_form(request, BestRequest, service.settings)
    target = await asked_target(service, form.target, form.threads)
    if form.workloads is not None:
        texts = form.texts or [""] * len(form.workloads)
        asked = [
            Asked(key, target, form.toolchain, workload_text=text)
            for key, text in zip(form.workloads, texts, strict=True)
        ]
    else:
        with model_of(form.source, form.graph) as model:
            imported = await service.importer.read(model)
        asked = [
            Asked(t.workload_key, target, form.toolchain, t.name, t.workload_text)
            for t in imported.tasks
        ]
    found = await service.lookups.find_all(asked)
    for one in found:
        service.metrics.looked_up(one.match)
    return Response(_joined(found), media_type=JSON)


def _joined(found: Sequence[Found]) -> bytes:
    """A `BestDocuments` of answers that are bytes already."""
    return b'{"tasks":[' + b",".join(one.body for one in found) + b"]}"
