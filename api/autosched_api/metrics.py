"""What Prometheus reads of the service: counters of this process, and of the database what all processes share.

| metric | meaning |
|---|---|
| autosched_request_seconds | time of requests by route, method and status |
| autosched_lookups_total | answered lookups by kind of match |
| autosched_streams | event streams that are open |
| autosched_queue_depth | submitted jobs that have not ended, by state |
| autosched_ended_jobs | submitted jobs that have ended and are kept, by state |
| autosched_service_total | what went wrong in the dispatchers, by name: leases_lost, duplicates_dropped |
| autosched_trials_total | trials closed, by outcome |
| autosched_device_seconds | use of devices in the last ten minutes |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from autosched.jobs.counters import faults, trials
from autosched.records.lookup import Match

MATCHES: tuple[Match, ...] = get_args(Match)

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Shared:
    """What the database says at the time of reading."""

    queue_depth: Mapping[str, int] = field(default_factory=dict)
    ended_jobs: Mapping[str, int] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    device_seconds: float = 0.0


class Metrics:
    """Of one application; `text` renders them together with what is shared."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "autosched_request_seconds",
            "Time of requests.",
            ("route", "method", "status"),
            buckets=SECONDS,
            registry=self.registry,
        )
        self._lookups = Counter(
            "autosched_lookups", "Answered lookups.", ("match",), registry=self.registry
        )
        self.streams = Gauge("autosched_streams", "Open event streams.", registry=self.registry)
        self._children: dict[tuple[str, str, str], Histogram] = {}
        self._matches: dict[str, Counter] = {
            match: self._lookups.labels(match) for match in MATCHES
        }

    def observe(self, route: str, method: str, status: str, seconds: float) -> None:
        key = (route, method, status)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self._requests.labels(*key)
        child.observe(seconds)

    def looked_up(self, match: str) -> None:
        self._matches[match].inc()

    def text(self, shared: Shared) -> bytes:
        own = generate_latest(self.registry)
        registry = CollectorRegistry()
        registry.register(_Collector(shared))
        return own + generate_latest(registry)


class _Collector:
    """The shared numbers as metrics."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def collect(self) -> Iterable[Metric]:
        depth = GaugeMetricFamily(
            "autosched_queue_depth", "Submitted jobs that have not ended.", labels=["state"]
        )
        for state, n in self._shared.queue_depth.items():
            depth.add_metric([state], n)
        ended = GaugeMetricFamily(
            "autosched_ended_jobs", "Submitted jobs that have ended.", labels=["state"]
        )
        for state, n in self._shared.ended_jobs.items():
            ended.add_metric([state], n)
        counted = CounterMetricFamily(
            "autosched_service", "What went wrong in the dispatchers.", labels=["name"]
        )
        for name, n in faults(self._shared.counters).items():
            counted.add_metric([name], n)
        closed = CounterMetricFamily("autosched_trials", "Trials closed.", labels=["outcome"])
        for outcome, n in trials(self._shared.counters).items():
            closed.add_metric([outcome.value], n)
        use = GaugeMetricFamily(
            "autosched_device_seconds", "Use of devices in the last ten minutes."
        )
        use.add_metric([], self._shared.device_seconds)
        return (depth, ended, counted, closed, use)
