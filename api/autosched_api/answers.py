"""Answers as bytes: a document is written by its model, once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Path, Request, Response
from pydantic import BaseModel

from autosched.wire.key import KEY_PATTERN
from autosched_api.service import Service


def answer(
    document: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    body = document.model_dump_json(by_alias=True).encode()
    return Response(body, status, dict(headers or {}), media_type="application/json")


def service_of(request: Request) -> Service:
    """The service of the application that got the request."""
    service: Service = request.app.state.service
    return service


PathKey = Annotated[
    str, Path(pattern=KEY_PATTERN, examples=["019a7c1e-7b1a-7cc3-9d6e-0f6a5b4c3d2e"])
]
"""An id or a key in a path."""
