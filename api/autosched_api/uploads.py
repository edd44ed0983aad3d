"""Uploads: `model` and `request` of a multipart body, the model streamed to a file that has no name.

The file is unlinked as it is made, so that nothing of an upload outlives the process, whatever ends it.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from autosched_api.bodies import parts, too_large
from autosched_api.problems import Problem
from autosched_api.service import Service

PART_NAMES = ("model", "request")
HEADER_BYTES = 8 << 10
OVERHEAD_BYTES = 64 << 10
"""Of boundaries and part headers, beside what the parts hold."""


@dataclass
class Upload:
    """A model on disk and the bytes of its request. `digest`: SHA-256 of the model."""

    file: IO[bytes]
    request: bytes = b""
    n_bytes: int = 0
    digest: str = ""


@asynccontextmanager
async def received(request: Request, service: Service, owner: str) -> AsyncIterator[Upload]:
    """The upload of a request, its file open for as long as the block runs. Problem: it breaks a rule or a limit."""
    settings = service.settings
    with tempfile.TemporaryFile(dir=settings.spool, prefix="autosched-upload-") as file:
        spooling = _Spooling(file, settings.upload_bytes, settings.body_bytes)
        taken = 0
        try:
            parser = _parser(request, spooling)
            most = settings.upload_bytes + settings.body_bytes + OVERHEAD_BYTES
            async for part in parts(request, most, settings.body_seconds):
                taken += len(part)
                _take(service, owner, len(part))
                # Written here, not in a thread: the page cache takes a part in microseconds.
                _feed(parser, part)
            yield spooling.finished(parser)
        finally:
            service.uploading[owner] -= taken
            if service.uploading[owner] <= 0:
                del service.uploading[owner]


def _take(service: Service, owner: str, n_bytes: int) -> None:
    most = service.settings.owner_upload_bytes
    service.uploading[owner] += n_bytes
    if service.uploading[owner] > most:
        raise Problem(
            "quota-exceeded",
            f"uploads under way of {owner!r} take more than {most} bytes",
            headers={"Connection": "close"},
            retry_seconds=10,
        )


def _parser(request: Request, spooling: _Spooling) -> MultipartParser:
    _, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary", b"")
    if not 1 <= len(boundary) <= 70:
        raise Problem("bad-request", "the multipart body names no boundary of 1 to 70 characters")
    return MultipartParser(boundary, spooling.callbacks())  # type: ignore[arg-type]


def _feed(parser: MultipartParser, part: bytes) -> None:
    try:
        parser.write(part)
    except FormParserError as error:
        raise Problem("bad-request", f"the body is no multipart form: {error}") from None


@dataclass
class _Spooling:
    """Where the bytes of each part go."""

    file: IO[bytes]
    most_model: int
    most_request: int
    hash: Any = field(default_factory=hashlib.sha256)
    request: bytearray = field(default_factory=bytearray)
    n_bytes: int = 0
    seen: list[str] = field(default_factory=list)
    header: bytearray = field(default_factory=bytearray)
    value: bytearray = field(default_factory=bytearray)
    disposition: bytes = b""
    is_over: bool = False

    def callbacks(self) -> dict[str, Any]:
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, i, j: self._grow(self.header, data[i:j]),
            "on_header_value": lambda data, i, j: self._grow(self.value, data[i:j]),
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_end": self._end,
        }

    def finished(self, parser: MultipartParser) -> Upload:
        """The whole upload, the file at its start."""
        try:
            parser.finalize()
        except FormParserError as error:
            raise Problem("bad-request", f"the body is no multipart form: {error}") from None
        if not self.is_over:
            raise Problem("bad-request", "the multipart body ends before its last boundary")
        for name in PART_NAMES:
            if name not in self.seen:
                raise Problem("invalid-input", f"the part {name!r} is missing")
        if not self.n_bytes:
            raise Problem("invalid-input", "the part 'model' is empty")
        self.file.flush()
        self.file.seek(0)
        return Upload(self.file, bytes(self.request), self.n_bytes, self.hash.hexdigest())

    def _begin(self) -> None:
        self.header.clear()
        self.value.clear()
        self.disposition = b""

    def _grow(self, text: bytearray, more: bytes) -> None:
        text += more
        if len(text) > HEADER_BYTES:
            raise Problem("bad-request", f"a part has a header of more than {HEADER_BYTES} bytes")

    def _header_end(self) -> None:
        if bytes(self.header).lower() == b"content-disposition":
            self.disposition = bytes(self.value)
        self.header.clear()
        self.value.clear()

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self.disposition)
        name = options.get(b"name", b"").decode("utf-8", "replace")
        if name not in PART_NAMES:
            raise Problem(
                "invalid-input", f"the part {name[:80]!r} is neither 'model' nor 'request'"
            )
        if name in self.seen:
            raise Problem("invalid-input", f"the part {name!r} is there twice")
        self.seen.append(name)

    def _data(self, data: bytes, start: int, end: int) -> None:
        part = data[start:end]
        if self.seen[-1] == "request":
            self.request += part
            if len(self.request) > self.most_request:
                raise too_large(self.most_request)
            return
        self.n_bytes += len(part)
        if self.n_bytes > self.most_model:
            raise too_large(self.most_model)
        self.hash.update(part)
        self.file.write(part)

    def _end(self) -> None:
        self.is_over = True
