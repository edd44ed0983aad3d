"""The version of the product, in one word."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

UNKNOWN = "unknown"
"""Of a working copy that is not installed."""


@cache
def product_version() -> str:
    """As it was installed."""
    try:
        return version("autosched")
    except PackageNotFoundError:
        return UNKNOWN
