"""An append-only log of finished runs, written by the process that ran them: what really happened, whatever the tuner
lived to store. One JSON object a line, each written in one call, so that lines of two writers do not mix.

"device" says where a run was, "begun" and "ended" when: seconds of a clock that all processes of a host share. A run
that was killed together with its writer has no line.
"""

from __future__ import annotations

import json
import os
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


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The entries so far; a last line that is cut short is left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.split("\n")[:-1] if line]
