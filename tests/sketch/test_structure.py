"""Vector axes: what is contiguous and wide, else where results are."""

from __future__ import annotations

from autosched.sketch.rules.structure import plain_vectors
from autosched.te.canonical import canonical
from autosched.te.workload import Workload, compute, placeholder, reduce_over
from tests.sketch import workloads


def _vectors(workload: Workload) -> list[str]:
    return plain_vectors(canonical(workload).stages[0])


def test_a_window_along_the_contiguous_axis_runs_over_results() -> None:
    """Three taps are no vector, however contiguous: a strided pool over rows runs along its results."""
    x = placeholder("x", (8, 21, 21))
    y = compute(
        "y",
        {"c": 8, "h": 10, "w": 10},
        lambda c, h, w: reduce_over(
            "max", {"a": 3, "b": 3}, lambda a, b: x[c, h * 2 + a, w * 2 + b]
        ),
    )
    assert _vectors(Workload("pool", (x,), y)) == ["i2"]


def test_a_long_contiguous_reduction_is_a_vector() -> None:
    assert _vectors(workloads.row_minimum(10, 1024)) == ["r0"]


def test_a_channel_last_pool_runs_over_channels() -> None:
    assert _vectors(workloads.max_pool(8, 16, 2)) == ["i2"]
