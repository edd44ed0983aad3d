"""Of all that Ray prints, the one line that says why."""

from __future__ import annotations

import pytest
from autosched_workers.cluster.said import Said


@pytest.mark.parametrize(
    ("printed", "error"),
    [
        ("", ""),
        ("SUCC started\nRemaining processes will be killed.\n", ""),
        ("Traceback:\n  File\nConnectionError: taken\n[state-dump] 1\n", "ConnectionError: taken"),
        ("ray.exceptions.RaySystemError: gone\nerror: at last\n", "error: at last"),
        ("KeyError: 'a'\n" + "x" * (1 << 17), ""),
    ],
)
def test_the_last_error_is_found(printed: str, error: str) -> None:
    said = Said()
    said.file.write(printed.encode())
    assert said.error() == error
