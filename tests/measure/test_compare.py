"""What counts as right."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from autosched.measure.compare import compare

NAN, INF = np.nan, np.inf

RIGHT = [
    ([1.0, 2.0], [1.0, 2.0], 0.0, 0.0),
    ([1.0, 2.5], [1.0, 2.0], 0.5, 0.5),
    ([NAN, INF, -INF], [NAN, INF, -INF], 0.0, 0.0),
    ([0.0], [-0.0], 0.0, 0.0),
    ([NAN, 1.1], [NAN, 1.0], 0.2, 0.1),
    ([], [], 0.0, 0.0),
]

WRONG = [
    ([1.0, 2.0], [1.0, 3.0], 0.5, 1, 1),
    ([NAN, 2.0], [1.0, 2.0], 9.0, 0, 1),
    ([1.0, 2.0], [1.0, NAN], 9.0, 1, 1),
    ([INF, 2.0], [-INF, 2.0], 9.0, 0, 1),
    ([INF, 2.0], [1e30, 2.0], 9.0, 0, 1),
    ([1.0, 5.0, 3.0], [0.0, 0.0, 0.0], 0.5, 1, 3),
]


@pytest.mark.parametrize(("got", "expected", "tolerance", "error"), RIGHT)
def test_right(got: list[float], expected: list[float], tolerance: float, error: float) -> None:
    largest, mismatch = compare(
        np.array(got, np.float32), np.array(expected, np.float32), tolerance
    )
    assert mismatch is None
    assert largest == pytest.approx(error, rel=1e-5)


@pytest.mark.parametrize(("got", "expected", "tolerance", "at", "n_wrong"), WRONG)
def test_wrong(
    got: list[float], expected: list[float], tolerance: float, at: int, n_wrong: int
) -> None:
    largest, mismatch = compare(
        np.array(got, np.float32), np.array(expected, np.float32), tolerance
    )
    assert mismatch is not None
    assert (mismatch.at, mismatch.n_wrong) == (at, n_wrong)
    assert largest > tolerance


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float16, ml_dtypes.bfloat16, np.int64, np.int8, np.uint8, np.bool_]
)
def test_every_dtype_tells_one_from_zero(dtype: type) -> None:
    zeros, ones = np.zeros(3, dtype), np.ones(3, dtype)
    assert compare(zeros, zeros, 0.0) == (0.0, None)
    assert compare(ones, zeros, 0.0)[1] is not None
