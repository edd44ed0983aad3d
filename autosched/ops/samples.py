"""Arrays that operators are tried with."""

from __future__ import annotations

import numpy as np

from autosched.ops.operator import Array


def normal(random: np.random.Generator, *shape: int) -> Array:
    """Standard normal float32."""
    return random.standard_normal(shape).astype(np.float32)
