"""Bodies of requests: read as they come, within a bound that no header can move, and checked against their form."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from python_multipart.multipart import parse_options_header
from starlette.requests import ClientDisconnect, Request

from autosched_api.problems import Problem, refused_body
from autosched_api.settings import Settings

Form = TypeVar("Form", bound=BaseModel)

LARGE_BYTES = 256 << 10
SLOWEST_BYTES_A_SECOND = 4 << 10


def media_type(request: Request) -> str:
    """The media type without parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def require_json(request: Request) -> None:
    if media_type(request) != "application/json":
        raise Problem("unsupported-media-type", "the body must be application/json")
    charset = _charset(request)
    if charset not in {"", "utf-8", "utf8", "us-ascii"}:
        raise Problem("unsupported-media-type", f"JSON is UTF-8, and not {charset[:40]!r}")


def _charset(request: Request) -> str:
    """What the media type says of its encoding, in lower case; empty if nothing."""
    _, options = parse_options_header(request.headers.get("content-type", ""))
    return options.get(b"charset", b"").decode("latin-1").strip().lower()


def _require_plain(request: Request) -> None:
    """Bodies are read as they are: a compressed one may be any size."""
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in {"", "identity"}:
        raise Problem(
            "unsupported-media-type",
            f"the body is encoded as {coding[:40]!r}: send it as it is",
            headers={"Connection": "close"},  # what is not read stands before the next request
        )


async def read_form(request: Request, form: type[Form], settings: Settings) -> Form:
    """A JSON body of a form. Problem: another media type, too large, too slow, no JSON, or against its rules."""
    require_json(request)
    return await parse_large(await read_body(request, settings), form)


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


async def read_body(request: Request, settings: Settings) -> bytes:
    """The whole body; Problem if it is larger, or comes more slowly, than the settings allow."""
    coming = parts(request, settings.body_bytes, settings.body_seconds)
    return b"".join([part async for part in coming])


async def parts(request: Request, most: int, seconds: float) -> AsyncIterator[bytes]:
    """The body as it comes. What a Content-Length promises is refused before a byte is read; what comes, when it is
    too much, or when it has taken longer than `seconds` and a slow line's time for what has come."""
    _require_plain(request)
    promised = request.headers.get("content-length")
    if promised is not None and promised.isdecimal() and int(promised) > most:
        raise too_large(most)
    total = 0
    begun = asyncio.get_running_loop().time()
    coming = request.stream()
    try:
        while True:
            async with asyncio.timeout_at(begun + seconds + total / SLOWEST_BYTES_A_SECOND):
                part = await anext(coming, None)
            if part is None:
                return
            total += len(part)
            if total > most:
                raise too_large(most)
            yield part
    except TimeoutError:
        raise too_slow(total) from None
    except ClientDisconnect:
        raise Problem("bad-request", "the client went away within the body") from None


def too_large(most: int) -> Problem:
    # What was not read stands between this request and the next on its connection.
    return Problem("too-large", f"at most {most} bytes are read", headers={"Connection": "close"})


def too_slow(n_bytes: int) -> Problem:
    return Problem(
        "too-slow", f"{n_bytes} bytes of the body came in time", headers={"Connection": "close"}
    )


def canonical(form: BaseModel) -> bytes:
    """The same bytes for the same request, however it was written: what an idempotency key stands for."""
    return json.dumps(
        form.model_dump(mode="json", exclude_defaults=True), sort_keys=True, separators=(",", ":")
    ).encode()
