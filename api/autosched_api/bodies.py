"""Bodies of requests: read as they come, within a bound that no header can move, and checked against their form."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from autosched_api.problems import Problem, refused_body

Form = TypeVar("Form", bound=BaseModel)

LARGE_BYTES = 256 << 10


def media_type(request: Request) -> str:
    """The media type without parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def require_json(request: Request) -> None:
    if media_type(request) != "application/json":
        raise Problem("unsupported-media-type", "the body must be application/json")


async def read_form(request: Request, form: type[Form], most: int) -> Form:
    """A JSON body of a form. Problem: another media type, too large, no JSON, or against its rules."""
    require_json(request)
    return await parse_large(await read_body(request, most), form)


async def parse_large(body: bytes, form: type[Form]) -> Form:
    """A form from its bytes; a large one is read beside the event loop."""
    if len(body) > LARGE_BYTES:
        return await asyncio.to_thread(parse_form, body, form)
    return parse_form(body, form)


def parse_form(body: bytes, form: type[Form]) -> Form:
    try:
        return form.model_validate_json(body)
    except ValidationError as error:
        raise refused_body(error) from None


async def read_body(request: Request, most: int) -> bytes:
    """The whole body; Problem if it has more than `most` bytes."""
    return b"".join([part async for part in parts(request, most)])


async def parts(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body as it comes. What a Content-Length promises is refused before a byte is read; what comes, when it is
    too much."""
    promised = request.headers.get("content-length")
    if promised is not None and promised.isdecimal() and int(promised) > most:
        raise too_large(most)
    total = 0
    try:
        async for part in request.stream():
            total += len(part)
            if total > most:
                raise too_large(most)
            yield part
    except ClientDisconnect:
        raise Problem("bad-request", "the client went away within the body") from None


def too_large(most: int) -> Problem:
    # What was not read stands between this request and the next on its connection.
    return Problem("too-large", f"at most {most} bytes are read", headers={"Connection": "close"})


def canonical(form: BaseModel) -> bytes:
    """The same bytes for the same request, however it was written: what an idempotency key stands for."""
    return json.dumps(
        form.model_dump(mode="json", exclude_defaults=True), sort_keys=True, separators=(",", ":")
    ).encode()
