"""Load a built directory."""

from __future__ import annotations

from pathlib import Path

from autosched.runtime.directory import load_directory
from autosched.runtime.module import Module


def load(directory: str | Path, *, threads: int | None = None) -> Module:
    """The module of a directory made by `build`: call it with arrays, in the graph's order or by name.

    `threads` defaults to those it was built for. InvalidInput: no such module, or one built for a machine whose code
    this one cannot run, with the field that differs.
    """
    return load_directory(Path(directory), threads)
