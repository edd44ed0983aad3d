"""Contenders side by side: rounds in which each is timed once, the order rotating, so that what disturbs the machine
for longer than a round disturbs all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from autosched.measure.timing import PAUSE_SECONDS, Sample, Series, TimingRule

WARM_BELOW_SECONDS = 0.01
"""Contenders whose call is shorter get an untimed one first: the others have used the caches since."""


class Contest:
    """The series of all contenders, known by number."""

    def __init__(self, numbers: Sequence[int], rule: TimingRule) -> None:
        self.rule = rule
        self.series = {n: Series() for n in numbers}
        self.calls = dict.fromkeys(numbers, 1)

    def order(self, round_number: int) -> list[int]:
        """The contenders in this round's order."""
        numbers = list(self.series)
        turn = round_number % max(1, len(numbers))
        return numbers[turn:] + numbers[:turn]

    def is_over(self, rounds: int, spent_seconds: float) -> bool:
        """After enough rounds, unless some contender lacks quiet samples and there is patience left."""
        rule, n = self.rule, len(self.series)
        if not n or rounds >= rule.max_samples:
            return True
        if rounds < rule.min_samples or spent_seconds < n * rule.cap_seconds:
            return False
        lacking = any(len(s.kept) < min(3, rule.min_samples) for s in self.series.values())
        return not lacking or spent_seconds >= n * max(rule.cap_seconds, rule.quiet_seconds)


def run_contest(
    contest: Contest,
    take: Callable[[int, int], Sample],
    *,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Fills the contest's series with `take(contender, calls)`."""
    start = clock()
    for number in contest.series:
        take(number, 1)
        probe = take(number, 1)
        contest.calls[number] = max(
            1, round(contest.rule.sample_seconds / max(probe.seconds, 1e-9))
        )
    rounds = 0
    while not contest.is_over(rounds, clock() - start):
        for number in contest.order(rounds):
            _one_sample(contest, number, take)
        rounds += 1


def _one_sample(contest: Contest, number: int, take: Callable[[int, int], Sample]) -> None:
    if contest.rule.sample_seconds / contest.calls[number] < WARM_BELOW_SECONDS:
        take(number, 1)
    sample = take(number, contest.calls[number])
    contest.series[number].add(sample)
    if sample.is_contended:
        time.sleep(min(PAUSE_SECONDS, sample.seconds))
