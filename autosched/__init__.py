"""Fast deep-learning kernels by search: graphs in, tuned and verified kernels out.

report = autosched.tune("onnx:light_squeezenet", trials=200)     # search, keep every result in the database
answers = autosched.best("onnx:light_squeezenet")                # ask the database
module = autosched.load("directory")                             # run what `autosched build` wrote
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autosched.entry.best import best
    from autosched.entry.load import load
    from autosched.entry.tune import tune

__all__ = ["best", "load", "tune"]


def __getattr__(name: str) -> Any:
    """Entry points are imported when they are first used: importing the package costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"autosched.entry.{name}"), name)
    globals()[name] = found
    return found
