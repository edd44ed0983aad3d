"""The application: layers, routes and handlers put together over one service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from autosched.db.store import connect
from autosched.entry.service_log import Log, open_log
from autosched.wire.best import BestRequest
from autosched.wire.event import EVENT_DATA
from autosched.wire.problem import ProblemDocument
from autosched.wire.submission import JobRequest, ResumeRequest
from autosched_api.documented import with_schemas, with_security
from autosched_api.middleware.headers import SecurityHeaders
from autosched_api.middleware.hosts import Hosts
from autosched_api.middleware.origins import Origins
from autosched_api.middleware.requests import Requests
from autosched_api.problems import install_handlers
from autosched_api.routes import about, best, events, health, jobs, machines, trials, workloads
from autosched_api.service import Service, Store, make_service
from autosched_api.settings import Settings
from autosched_api.shortcut import BestShortcut

RESOURCES = (jobs, events, trials, best, machines, workloads, about, health)
"""The modules of `routes`, in the order of the document."""

FORMS: tuple[type[BaseModel], ...] = (
    ProblemDocument,
    JobRequest,
    ResumeRequest,
    BestRequest,
    *EVENT_DATA.values(),
)
"""What the document refers to beside the answers."""

DESCRIPTION = """Submit graphs, follow their jobs, and ask for the best known configurations.

Every error is a problem document (RFC 9457) of one of the types listed with each route. Ids and keys are opaque and safe
in a URL. Times are RFC 3339 in UTC, units stand in names, numbers that are not finite are null. Answers may gain fields,
known values and events within v1."""


class Application(FastAPI):
    """The framework behind our layers: they stand before all of its own, and what they answer costs no more."""

    front: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await super().__call__(scope, receive, send)
        else:
            await self.front(scope, receive, send)

    def stand_before(self, service: Service) -> None:
        """Puts the layers, outermost first, before the framework."""
        inner = BestShortcut(super().__call__, service)
        guarded = Hosts(Origins(inner), service.settings)
        self.front = SecurityHeaders(Requests(guarded, service.log, service.metrics))


def create_app(
    settings: Settings, *, store: Store | None = None, log: Log | None = None
) -> FastAPI:
    """The service as an ASGI application. It opens the database of the settings, made or upgraded if need be, unless it
    is given a store; either is closed when the application ends. InvalidInput: the database cannot be opened."""
    service = make_service(settings, store or connect(settings.db), log or open_log())
    app = Application(
        title="autosched",
        version=about.API_VERSION,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.service = service
    for resource in RESOURCES:
        app.include_router(resource.router)
    install_handlers(app)
    app.stand_before(service)
    app.openapi = lambda: openapi_document(app)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    yield
    service.stopping.set()
    service.close()


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the forms that handlers read by themselves."""
    if not app.openapi_schema:
        document = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
        )
        app.openapi_schema = with_security(with_schemas(document, FORMS))
    return app.openapi_schema
