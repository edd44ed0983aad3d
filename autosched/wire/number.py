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
