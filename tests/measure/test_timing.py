"""The decisions of timing, on a simulated machine: no clock and no kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle, repeat

import pytest

from autosched.measure.interleave import Contest, run_contest
from autosched.measure.timing import Sample, Series, TimingRule, judge, time_calls


@dataclass
class Machine:
    """Takes samples of a call of `call_seconds`; each draws (slow-down, contended) from `weather`."""

    call_seconds: float
    weather: Iterator[tuple[float, bool]] = field(default_factory=lambda: repeat((1.0, False)))
    now: float = 0.0
    taken: list[Sample] = field(default_factory=list)

    def take(self, calls: int) -> Sample:
        slow, contended = next(self.weather)
        seconds = self.call_seconds * calls * slow
        self.now += seconds
        self.taken.append(Sample(seconds, calls, switches=10_000 if contended else 0))
        return self.taken[-1]

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def time(self, rule: TimingRule) -> tuple[Series, str]:
        return time_calls(self.take, rule, clock=lambda: self.now, pause=self.pause)


def test_a_quiet_machine_needs_the_least_number_of_samples() -> None:
    machine = Machine(1e-5)
    series, verdict = machine.time(TimingRule())
    assert (verdict, series.summary()) == ("done", (pytest.approx(1e-5), pytest.approx(0.0), 5))


def test_short_calls_are_batched_to_the_sample_length() -> None:
    machine = Machine(1e-7)
    machine.time(TimingRule(sample_seconds=0.002))
    assert machine.taken[-1].seconds == pytest.approx(0.002, rel=0.01)


def test_noise_takes_more_samples_up_to_the_cap() -> None:
    machine = Machine(1e-4, cycle([(1.0, False), (1.2, False), (0.9, False), (1.1, False)]))
    rule = TimingRule(cap_seconds=0.05)
    series, verdict = machine.time(rule)
    assert verdict == "done"
    assert series.n_taken > 5
    assert machine.now < 0.06


def test_contended_samples_are_dropped_and_counted() -> None:
    machine = Machine(1e-4, cycle([(3.0, True), (1.0, False)]))
    series, verdict = machine.time(TimingRule())
    assert verdict == "done"
    assert series.summary()[0] == pytest.approx(1e-4)
    assert series.contended_share == pytest.approx(0.5, abs=0.1)


def test_a_machine_that_is_never_quiet_is_waited_for_a_bounded_time() -> None:
    machine = Machine(1e-4, repeat((2.0, True)))
    rule = TimingRule(quiet_seconds=0.5, max_samples=10_000)
    series, verdict = machine.time(rule)
    assert (verdict, series.kept, series.contended_share) == ("no_quiet", [], 1.0)
    assert rule.quiet_seconds <= machine.now < rule.quiet_seconds + 0.1


def test_a_slow_candidate_stops_early() -> None:
    machine = Machine(1e-3)
    series, verdict = machine.time(TimingRule(best_seconds=1e-4))
    assert (verdict, series.n_taken) == ("gave_up", 2)


def test_a_hopeless_candidate_stops_at_its_first_call() -> None:
    machine = Machine(0.5)
    series, verdict = machine.time(TimingRule(best_seconds=1e-3))
    assert (verdict, len(machine.taken), series.n_taken) == ("gave_up", 1, 1)


def test_a_disturbed_first_call_condemns_nobody() -> None:
    machine = Machine(1e-3, iter([(500.0, True), *[(1.0, False)] * 99]))
    assert machine.time(TimingRule(best_seconds=1e-3))[1] == "done"


def test_waiting_without_a_switch_is_contention_too() -> None:
    assert Sample(0.002, 1, waited_seconds=0.0005).is_contended
    assert not Sample(0.002, 1, waited_seconds=1e-6).is_contended
    assert Sample(0.002, 1, stolen_ticks=1).is_contended


def test_a_switch_matters_as_much_as_it_costs() -> None:
    assert Sample(0.002, 1, switches=1).is_contended
    assert not Sample(0.02, 1, switches=1).is_contended


def test_hardly_disturbed_samples_are_better_than_none() -> None:
    series = Series()
    for waited in (0.0004, 0.01):
        series.add(Sample(0.01 + waited, 1, waited_seconds=waited))
    assert (series.kept, len(series.dropped), series.contended_share) == ([], 2, 1.0)
    assert series.summary()[0] == pytest.approx(0.0104)
    assert judge(series, TimingRule(), 99.0) == "done"


def test_a_few_quiet_samples_are_enough_at_the_cap() -> None:
    series = Series(kept=[1.0, 1.5, 2.0], dropped=[9.0])
    rule = TimingRule(cap_seconds=0.06, quiet_seconds=1.0)
    assert judge(series, rule, 0.05) == "more"
    assert judge(series, rule, 0.07) == "done"
    assert judge(Series(kept=[1.0]), rule, 0.07) == "more"
    assert judge(Series(kept=[1.0]), rule, 1.1) == "done"


def contest(slow_round: Callable[[int], float]) -> tuple[Contest, list[int]]:
    """Contender 1 takes twice as long as contender 0; `slow_round` slows sample number n."""
    rules = TimingRule(min_samples=15, sample_seconds=1e-3, cap_seconds=0.01)
    found, order = Contest([0, 1], rules), list[int]()
    clock = [0.0]

    def take(number: int, calls: int) -> Sample:
        order.append(number)
        seconds = calls * (1e-4 if number == 0 else 2e-4) * slow_round(len(order))
        clock[0] += seconds
        return Sample(seconds, calls)

    run_contest(found, take, clock=lambda: clock[0])
    return found, order


def test_contenders_take_turns_and_the_order_rotates() -> None:
    found, order = contest(lambda n: 1.0)
    assert [len(s.kept) for s in found.series.values()] == [15, 15]
    assert [found.order(r) for r in range(3)] == [[0, 1], [1, 0], [0, 1]]
    assert order.count(0) == order.count(1)


def test_a_drift_of_the_machine_leaves_the_ratio_alone() -> None:
    found, _ = contest(lambda n: 1.0 + n / 50)
    first, second = (s.summary()[0] for s in found.series.values())
    assert second / first == pytest.approx(2.0, rel=0.05)
