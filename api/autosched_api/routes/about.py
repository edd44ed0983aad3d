"""`/v1/info` and `/v1/ops`: what this service is, and which operators it reads."""

from __future__ import annotations

from functools import lru_cache

from fastapi import APIRouter, Request, Response

from autosched.db.upgrade import HEAD
from autosched.entry.product_version import product_version
from autosched.entry.space_version import SPACE_VERSION
from autosched.graph.graph import OPSET
from autosched.wire.info import InfoDocument, OperatorDocument, OperatorsDocument
from autosched_api.answers import answer, service_of
from autosched_api.documented import problems
from autosched_api.routes.callers import Reader

router = APIRouter(prefix="/v1", tags=["about"])

API_VERSION = "1"


@router.get("/info", response_model=InfoDocument, responses=problems())
async def info(request: Request, caller: Reader) -> Response:
    """Versions of product, API, database and search space, and what one request may bring."""
    settings = service_of(request).settings
    document = InfoDocument(
        version=product_version(),
        api_version=API_VERSION,
        schema_version=HEAD,
        space_version=SPACE_VERSION,
        upload_bytes=settings.upload_bytes,
        body_bytes=settings.body_bytes,
        authenticated=settings.needs_tokens,
    )
    return answer(document)


@router.get("/ops", response_model=OperatorsDocument, responses=problems())
async def operators(request: Request, caller: Reader) -> Response:
    """The operators that a graph may hold."""
    return answer(_operators())


@lru_cache(maxsize=1)
def _operators() -> OperatorsDocument:
    from autosched.graph.compile_time import COMPILE_TIME
    from autosched.graph.importers.json import operator_names
    from autosched.ops import OPS

    def kind(name: str) -> str:
        if name in COMPILE_TIME:
            return "compile_time"
        return "kernel" if name in OPS else "rewritten"

    items = [OperatorDocument(name=n, kind=kind(n), opset=OPSET) for n in operator_names()]
    return OperatorsDocument(items=items)
