"""Runs in flight: results in order, never too many at once, none forgotten, errors heard."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from autosched.tuning.in_flight import InFlight


@pytest.mark.parametrize("most", [1, 2, 3])
def test_results_come_in_order(most: int) -> None:
    calls: list[Callable[[], int]] = [lambda i=i: i for i in range(20)]  # type: ignore[misc]
    assert list(InFlight(most).results(calls)) == list(range(20))


def test_the_next_one_runs_while_a_result_is_taken_and_the_one_after_waits() -> None:
    begun = [threading.Event() for _ in range(4)]

    def calls() -> Iterator[Callable[[], int]]:
        for i in range(4):
            yield lambda i=i: begun[i].set() or i  # type: ignore[misc]

    results = InFlight(2).results(calls())
    assert next(results) == 0
    assert begun[1].wait(60), "the device goes on while the first result is stored"
    assert not begun[2].is_set()
    assert next(results) == 1
    assert begun[2].wait(60)
    assert not begun[3].is_set()


@pytest.mark.parametrize("most", [1, 2])
def test_errors_are_raised(most: int) -> None:
    with pytest.raises(ZeroDivisionError):
        list(InFlight(most).results([lambda: 1 // 0]))


@pytest.mark.parametrize("most", [1, 2, 3])
def test_what_is_under_way_gives_its_result_when_no_more_is_wanted(most: int) -> None:
    def calls() -> Iterator[Callable[[], int]]:
        yield lambda: 0
        yield lambda: 1
        raise KeyboardInterrupt

    results = InFlight(most).results(calls())
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(KeyboardInterrupt):
        next(results)


@pytest.mark.parametrize("most", [2, 3])
def test_nothing_is_under_way_when_it_has_ended(most: int) -> None:
    begun, ended = threading.Event(), list[int]()

    def fails() -> int:
        assert begun.wait(60)
        return 1 // 0

    def goes_on() -> int:
        begun.set()
        ended.append(sum(range(10**6)))
        return 1

    with pytest.raises(ZeroDivisionError):
        list(InFlight(most).results([fails, goes_on]))
    assert ended


@pytest.mark.parametrize("most", [2, 3])
def test_where_one_fails_the_others_under_way_still_give_their_results(most: int) -> None:
    begun, failed = threading.Barrier(most), threading.Event()

    def run(number: int) -> int:
        begun.wait(60)
        if number == 0:
            failed.set()
            raise ZeroDivisionError
        assert failed.wait(60)
        return number

    calls = [lambda i=i: run(i) for i in range(9)]  # type: ignore[misc]
    found: list[int] = []
    with pytest.raises(ZeroDivisionError):
        found.extend(InFlight(most).results(calls))  # what came before the error is kept
    assert found == list(range(1, most))
