"""How long does a call take? Samples until the median is stable, on a machine that others use too.

A sample is one timed batch of calls. It is contended if a thread of ours was made to wait meanwhile, or if the
hypervisor took the core; contended samples are dropped and their share is kept. On a busy host samples get shorter and
are taken right after a pause, when the scheduler owes us a slice. The decisions are here; the clock is in C.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Literal

DISTURBED_SHARE = 0.01
SWITCH_SECONDS = 25e-6
TOLERABLE_SHARE = 0.05
"""If the wait for a quiet machine was in vain, samples disturbed by less than this are better than none."""

PRECISION = 0.01
PRECISION_PER_GAP = 0.1
WORST_PRECISION = 0.05
"""How well a median is to be known, relatively: to PRECISION where it is near the fastest known, and to a tenth of its
distance from that where it is slower, since nobody will choose it."""

FAR_GAP = 0.1
FAR_SAMPLES = 3
"""Of a candidate slower than the fastest by more than FAR_GAP this many samples can be enough, hardly disturbed ones
among them."""

PROBE_RATIO = 2.0
QUIET_SECONDS = 1.5
SHORTEST_SAMPLE_SECONDS = 0.0005
PAUSE_SECONDS = 0.004


@dataclass(frozen=True)
class Sample:
    """One batch: total seconds, calls, and what disturbed it."""

    seconds: float
    calls: int
    switches: int = 0
    waited_seconds: float = 0.0
    stolen_ticks: int = 0

    @property
    def disturbance(self) -> float:
        """Time lost to others over the sample's time: waiting threads, and what a switch costs in itself."""
        return (self.waited_seconds + self.switches * SWITCH_SECONDS) / self.seconds

    @property
    def is_contended(self) -> bool:
        return self.stolen_ticks > 0 or self.disturbance > DISTURBED_SHARE

    @property
    def call_seconds(self) -> float:
        return self.seconds / self.calls


@dataclass(frozen=True)
class TimingRule:
    """When to stop; the fields of `TimingPolicy` that matter here, and how long to wait for a quiet machine."""

    best_seconds: float | None = None
    give_up_ratio: float = 3.0
    min_samples: int = 5
    max_samples: int = 200
    sample_seconds: float = 0.002
    cap_seconds: float = 0.04
    quiet_seconds: float = QUIET_SECONDS


@dataclass
class Series:
    """The samples of one kernel. Seconds are a call's."""

    kept: list[float] = field(default_factory=list)
    dropped: list[float] = field(default_factory=list)
    tolerable: list[float] = field(default_factory=list)

    def add(self, sample: Sample) -> None:
        (self.dropped if sample.is_contended else self.kept).append(sample.call_seconds)
        if sample.stolen_ticks == 0 and sample.disturbance < TOLERABLE_SHARE:
            self.tolerable.append(sample.call_seconds)

    @property
    def usable(self) -> list[float]:
        """The kept samples; else those that were hardly disturbed."""
        return self.kept or self.tolerable

    @property
    def n_taken(self) -> int:
        return len(self.kept) + len(self.dropped)

    @property
    def contended_share(self) -> float:
        return len(self.dropped) / self.n_taken if self.n_taken else 0.0

    def summary(self) -> tuple[float, float, int]:
        """Median, interquartile range and number of the usable samples, or of all if there is none."""
        return _summary(self.usable or self.dropped)

    def is_stable(self, min_samples: int, best_seconds: float | None = None) -> bool:
        """Whether the median is known well enough: its standard error is 0.93 of the interquartile range over the
        root of the count, for a normal distribution."""
        gap = 0.0 if best_seconds is None else self._gap(best_seconds)
        is_far = gap > FAR_GAP
        values = self.tolerable if is_far else self.kept
        if len(values) < max(2, min(FAR_SAMPLES, min_samples) if is_far else min_samples):
            return False
        middle, spread, n = _summary(values)
        wanted = min(max(PRECISION, PRECISION_PER_GAP * gap), WORST_PRECISION)
        return 0.93 * spread / math.sqrt(n) <= wanted * middle

    def _gap(self, best_seconds: float) -> float:
        """How much slower than the fastest known, relatively, as far as is known."""
        values = self.tolerable or self.kept
        return max(0.0, median(values) / best_seconds - 1) if values else 0.0


def _summary(values: list[float]) -> tuple[float, float, int]:
    """Median, interquartile range and number."""
    if len(values) < 2:
        return values[0], 0.0, len(values)
    low, _, high = quantiles(values, n=4, method="inclusive")
    return median(values), high - low, len(values)


Verdict = Literal["more", "done", "gave_up", "no_quiet"]


def judge(series: Series, rule: TimingRule, spent_seconds: float) -> Verdict:
    """What to do after the samples so far; `spent_seconds` of wall time went into them."""
    kept = series.kept
    if (
        rule.best_seconds is not None
        and len(kept) >= 2
        and min(kept) > rule.give_up_ratio * rule.best_seconds
    ):
        return "gave_up"
    if series.is_stable(rule.min_samples, rule.best_seconds) or series.n_taken >= rule.max_samples:
        return "done" if series.usable else "no_quiet"
    if spent_seconds < rule.cap_seconds:
        return "more"
    if len(kept) >= min(3, rule.min_samples):
        return "done"
    patience = max(rule.cap_seconds, rule.quiet_seconds)
    if spent_seconds < patience:
        return "more"
    return "done" if series.usable else "no_quiet"


def time_calls(
    take: Callable[[int], Sample],
    rule: TimingRule,
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> tuple[Series, Verdict]:
    """Takes samples with `take(calls)` until the rule is met."""
    series = Series()
    start = clock()
    calls, hopeless = _warm_up(take, rule, series)
    if hopeless:
        return series, "gave_up"
    while True:
        sample = take(calls)
        series.add(sample)
        verdict = judge(series, rule, clock() - start)
        if verdict != "more":
            return series, verdict
        if sample.is_contended:
            calls = _shorter(calls, sample, series)
            pause(min(PAUSE_SECONDS, sample.seconds))


def _warm_up(take: Callable[[int], Sample], rule: TimingRule, series: Series) -> tuple[int, bool]:
    """Calls a batch for a sample of `sample_seconds`, and whether the kernel is slow beyond doubt already."""
    sample = take(1)
    if (
        rule.best_seconds is not None
        and not sample.is_contended
        and (
            sample.seconds > PROBE_RATIO * rule.give_up_ratio * rule.best_seconds
            and sample.seconds > rule.sample_seconds
        )
    ):
        series.add(sample)
        return 1, True
    while sample.seconds < rule.sample_seconds / 4 and sample.calls < 1 << 20:
        sample = take(sample.calls * 4)
    return max(1, round(rule.sample_seconds / max(sample.call_seconds, 1e-9))), False


def _shorter(calls: int, sample: Sample, series: Series) -> int:
    """Half the batch when most samples are disturbed: a short one fits between two disturbances."""
    if series.contended_share > 0.5 and sample.seconds > 2 * SHORTEST_SAMPLE_SECONDS:
        return max(1, calls // 2)
    return calls
