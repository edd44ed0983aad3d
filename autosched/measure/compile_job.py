"""One compile inside a warden: source text in, the compiler's ending and the shared object out, nothing left on disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from autosched.measure.containment import Limits, contain

SOURCE_NAME = "kernel.c"
OUTPUT_NAME = "kernel.so"


def compile_source(
    request: dict[str, Any], files: list[int], abandon: int
) -> tuple[dict[str, Any], list[int]]:
    """`request`: command (run in a fresh folder that holds SOURCE_NAME), source, folder_prefix, environment (all of it),
    limits."""
    folder = Path(tempfile.mkdtemp(prefix=request["folder_prefix"], dir=request["folder"]))
    try:
        (folder / SOURCE_NAME).write_text(request["source"], encoding="utf-8")
        command = request["command"]
        environment = {**request["environment"], "TMPDIR": str(folder)}

        def body(answer: int) -> None:
            os.chdir(folder)
            os.close(answer)
            os.execvpe(command[0], command, environment)

        ending = contain(body, Limits(**request["limits"]), abandon)
        output = folder / OUTPUT_NAME
        produced = [os.open(output, os.O_RDONLY)] if output.is_file() else []
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    answer = {
        "kind": ending.kind,
        "status": ending.status,
        "strays": ending.strays,
        "seconds": ending.wall_seconds,
        "output": ending.output.decode("utf-8", "replace"),
    }
    return answer, produced
