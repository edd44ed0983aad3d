"""Who asks, as a parameter of handlers: one dependency a scope. What the document says of it stands in `documented`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from autosched_api.access import Caller, caller_of
from autosched_api.answers import service_of


async def _reader(request: Request) -> Caller:
    return await caller_of(service_of(request), request.scope, "read")


async def _submitter(request: Request) -> Caller:
    return await caller_of(service_of(request), request.scope, "submit")


Reader = Annotated[Caller, Depends(_reader)]
Submitter = Annotated[Caller, Depends(_submitter)]
