"""An append-only log of finished runs, written by the process that ran them: what really happened, whatever the tuner
lived to store. One JSON object a line, each written in one call, so that lines of two writers do not mix.

"device" says where a run was, "begun" and "ended" when: seconds of a clock that all processes of a host share. A run
that was killed together with its writer has no line. The shared objects that ran lie beside it, each once, under the
digests by which "objects" names them.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import tempfile
import time
from pathlib import Path
from typing import Any


def now_seconds() -> float:
    """Of the host's monotonic clock, which nobody sets."""
    return time.monotonic()


def append_line(path: Path, entry: dict[str, Any]) -> None:
    """Appends one line and leaves it to the system's keeping; the file is made if need be."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(file, json.dumps(entry).encode() + b"\n")
    finally:
        os.close(file)


def objects_folder(path: Path) -> Path:
    """Where the objects of a journal lie."""
    return path.with_name(f"{path.name}.objects")


def keep_object(path: Path, file: int) -> str:
    """Keeps what is in an open file, and names it."""
    folder = objects_folder(path)
    folder.mkdir(exist_ok=True)
    with mmap.mmap(file, 0, prot=mmap.PROT_READ) as content:
        digest = hashlib.sha256(content).hexdigest()
        if not (folder / digest).exists():
            part, name = tempfile.mkstemp(dir=folder)
            with os.fdopen(part, "wb") as kept:
                kept.write(content)
            os.replace(name, folder / digest)
    return digest


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The entries so far; a last line that is cut short is left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.split("\n")[:-1] if line]
