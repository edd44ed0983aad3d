"""Windows in plain NumPy, one tap at a time: the independent reference of `windows`.

Data is channel-last here, (N, spatial, C); channel-first operators move the axis before and after.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from autosched.ops.windows import Windows

Array = np.ndarray[Any, Any]


def padded(x: Array, windows: Windows, value: float = 0.0) -> Array:
    """The spatial dimensions extended by the padding."""
    widths = [(0, 0), *zip(windows.before, windows.after, strict=True), (0, 0)]
    return np.pad(x, widths, constant_values=value)


def tap_view(x: Array, windows: Windows, tap: tuple[int, ...], output: tuple[int, ...]) -> Array:
    """The elements of a padded tensor that one tap of the window reads."""
    cut = [
        slice(t * d, t * d + s * (n - 1) + 1 if n else t * d, s)
        for t, d, s, n in zip(tap, windows.dilation, windows.stride, output, strict=True)
    ]
    return x[(slice(None), *cut, slice(None))]


def convolution_reference(x: Array, w: Array, windows: Windows, groups: int = 1) -> Array:
    """`w` is (taps, Ci / groups, Co)."""
    output = windows.output(x.shape[1:-1])
    n_out = w.shape[-1] // groups
    result = np.zeros((x.shape[0], *output, w.shape[-1]), np.result_type(x, w))
    extended = padded(x, windows)
    n_in = w.shape[-2]
    for tap in product(*(range(k) for k in windows.kernel)):
        part = tap_view(extended, windows, tap, output)
        for g in range(groups):
            columns = slice(g * n_out, (g + 1) * n_out)
            rows = part[..., g * n_in : (g + 1) * n_in]
            result[..., columns] += rows @ w[tap][:, columns]
    return result


def transposed_convolution_reference(
    x: Array, w: Array, windows: Windows, output: tuple[int, ...], groups: int = 1
) -> Array:
    """Every input element spread over its window; `w` is (taps, Ci / groups, Co)."""
    n_in, n_out = w.shape[-2], w.shape[-1] // groups
    extents = x.shape[1:-1]
    full = [
        max(s * (e - 1) + d * (k - 1) + 1, b + o)
        for s, e, d, k, b, o in zip(
            windows.stride,
            extents,
            windows.dilation,
            windows.kernel,
            windows.before,
            output,
            strict=True,
        )
    ]
    spread = np.zeros((x.shape[0], *full, w.shape[-1]), np.result_type(x, w))
    for tap in product(*(range(k) for k in windows.kernel)):
        target = tap_view(spread, windows, tap, extents)
        for g in range(groups):
            columns = slice(g * n_out, (g + 1) * n_out)
            rows = x[..., g * n_in : (g + 1) * n_in]
            target[..., columns] += rows @ w[tap][:, columns]
    cut = [slice(b, b + o) for b, o in zip(windows.before, output, strict=True)]
    return spread[(slice(None), *cut, slice(None))]
