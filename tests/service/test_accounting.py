"""What the accounts must find: two runs at once on one device, whoever noted them in whichever order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.accounting import check_never_two_at_once


def run(device: str, begun: float, ended: float) -> dict[str, Any]:
    return {"device": device, "begun": begun, "ended": ended}


APART = [run("a/cpu", 3.0, 4.0), run("a/cpu", 1.0, 3.0), run("b/cpu", 1.5, 3.5)]


def test_runs_one_after_the_other_are_fine() -> None:
    check_never_two_at_once([])
    check_never_two_at_once(APART)


@pytest.mark.parametrize(
    "other",
    [
        run("a/cpu", 2.9, 3.0),
        run("a/cpu", 0.5, 1.1),
        run("a/cpu", 0.0, 9.0),
        run("b/cpu", 2.0, 2.1),
    ],
)
def test_a_run_within_another_is_found(other: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=f"two at once on {other['device']}"):
        check_never_two_at_once([*APART, other])
