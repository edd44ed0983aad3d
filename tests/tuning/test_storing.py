"""Results on their way to the store: in order, one at a time, none forgotten, errors heard."""

from __future__ import annotations

import threading

import pytest

from autosched.tuning.storing import storing


@pytest.mark.parametrize("ahead", [False, True])
def test_everything_is_stored_in_order(*, ahead: bool) -> None:
    done: list[int] = []
    with storing(ahead=ahead) as store:
        for i in range(20):
            store(lambda i=i: done.append(i))  # type: ignore[misc]
    assert done == list(range(20))


def test_the_next_run_need_not_wait_but_the_one_after_must() -> None:
    gate, begun = threading.Event(), threading.Event()
    done: list[str] = []

    def slow() -> None:
        begun.set()
        gate.wait()
        done.append("slow")

    with storing(ahead=True) as store:
        store(slow)
        begun.wait()
        assert done == [], "the device goes on"
        threading.Timer(0.01, gate.set).start()
        store(lambda: done.append("next"))
        assert done[0] == "slow"
    assert done == ["slow", "next"]


@pytest.mark.parametrize("ahead", [False, True])
def test_errors_are_raised(*, ahead: bool) -> None:
    with pytest.raises(ZeroDivisionError), storing(ahead=ahead) as store:
        store(lambda: 1 // 0)  # type: ignore[arg-type,return-value]


def test_what_is_under_way_is_stored_when_a_run_is_stopped() -> None:
    done: list[int] = []

    def stopped() -> None:
        with storing(ahead=True) as store:
            store(lambda: done.append(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert done == [1]
