"""Answers kept on disk, a file a question, for the time when the service is away.

A file is written beside its place and renamed into it, so that a reader sees all of it or what was there before, and a
writer that is killed leaves a temporary file at most. Every file carries its question and a digest: one that is damaged
or answers another question is moved to `quarantine` and counts as absent. Processes may share a directory; the last
writer wins, and all of them write what the service said.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from autosched.errors import InvalidInput
from autosched.wire.best import BestDocument
from autosched.wire.key import Time

FORMAT = 1
QUARANTINE = "quarantine"
TEMPORARY = ".tmp"
MOST_BYTES = 16 << 20
"""Of one answer; longer files are none of ours."""

ABANDONED = timedelta(hours=1)
"""A temporary file this old has lost its writer."""


@dataclass(frozen=True)
class Question:
    """What was asked of whom: everything that the answer depends on."""

    server: str
    workload: str
    target: str
    threads: int | None = None
    toolchain: str | None = None

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))

    @property
    def file_name(self) -> str:
        return f"{_digest(self.to_json())}.json"


class Kept(BaseModel):
    """One file. `fetched_at`: when the service gave the answer."""

    model_config = ConfigDict(extra="forbid")

    autosched_best: int
    question: dict[str, Any]
    fetched_at: Time
    answer: BestDocument


class BestCache:
    """A directory of answers, made when the first one is kept. InvalidInput: a path that no file system has."""

    def __init__(self, directory: Path) -> None:
        if "\0" in str(directory):
            raise InvalidInput(f"cache directory {str(directory)!r}: a path holds no NUL")
        self.directory = directory
        self._is_swept = False

    def keep(self, question: Question, answer: BestDocument, fetched_at: datetime) -> None:
        """OSError if the disk refuses it; what was there stays."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._sweep()
        kept = Kept(
            autosched_best=FORMAT,
            question=question.to_json(),
            fetched_at=fetched_at,
            answer=answer,
        )
        fields = kept.model_dump(mode="json")
        text = json.dumps({**fields, "digest": _digest(fields)})
        _write_whole(self.directory / question.file_name, text.encode())

    def find(self, question: Question) -> Kept | None:
        """The answer kept for this very question; a file that is none of ours is put aside."""
        path = self.directory / question.file_name
        try:
            with path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError:
            data = b""
        kept = _parsed(data, question)
        if kept is None:
            self._put_aside(path)
        return kept

    def _put_aside(self, path: Path) -> None:
        """Another process may have been faster, or have written it anew: either way it is asked afresh."""
        aside = self.directory / QUARANTINE
        with suppress(OSError):
            aside.mkdir(exist_ok=True)
            path.replace(aside / path.name)

    def _sweep(self) -> None:
        """Ends what killed writers left, once a process."""
        if self._is_swept:
            return
        self._is_swept = True
        oldest = (datetime.now(UTC) - ABANDONED).timestamp()
        for path in self.directory.glob(f"*{TEMPORARY}"):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()


def _parsed(data: bytes, question: Question) -> Kept | None:
    if len(data) > MOST_BYTES:
        return None
    try:
        fields = json.loads(data)
        digest = fields.pop("digest")
        kept = Kept.model_validate(fields)
    except (ValueError, ValidationError, RecursionError, AttributeError, KeyError, TypeError):
        return None
    is_ours = kept.autosched_best == FORMAT and kept.question == question.to_json()
    return kept if is_ours and digest == _digest(fields) else None


def _write_whole(path: Path, data: bytes) -> None:
    """All of it or nothing, whenever the writer dies."""
    handle, name = tempfile.mkstemp(suffix=TEMPORARY, prefix=path.stem, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _digest(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
