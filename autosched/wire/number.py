"""Numbers as JSON takes them."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import BeforeValidator


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


Number = Annotated[float | None, BeforeValidator(_finite)]
"""A float; null if there is none or it is not finite."""


def microseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e6


def seconds(us: float | None) -> float | None:
    """The way back: seconds whose `microseconds` are these again."""
    if us is None:
        return None
    near = us / 1e6
    around = (near, math.nextafter(near, 0.0), math.nextafter(near, math.inf))
    return next((s for s in around if microseconds(s) == us), near)
