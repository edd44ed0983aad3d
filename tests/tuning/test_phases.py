"""The phases of a job sum to its wall time."""

from __future__ import annotations

from autosched.tuning.phases import PhaseClock


class Ticker:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.moment = 0.0

    def __call__(self) -> float:
        return self.moment


def test_inner_phases_pause_outer_ones_and_all_sum_to_the_wall_time() -> None:
    now = Ticker()
    clock = PhaseClock(now)
    now.moment = 1.0
    with clock.phase("search"):
        now.moment = 3.0
        with clock.phase("model"):
            now.moment = 7.0
        now.moment = 8.0
    now.moment = 8.5
    spent = clock.seconds()
    assert spent == {"search": 3.0, "build": 0.0, "run": 0.0, "model": 4.0, "other": 1.5}
    assert sum(spent.values()) == 8.5
