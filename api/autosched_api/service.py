"""What every handler shares: settings, the store behind a bounded set of threads, caches, the importer, counters.

One instance an application; handlers reach it through the request's `app.state.service`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from autosched.entry.service_log import Log
from autosched.jobs.access import Token, TokenStore
from autosched.jobs.queue import JobLeases, JobQueue
from autosched.jobs.workers import Worker, WorkerRegistry
from autosched.records.catalog import Catalog
from autosched.records.store import BestRecord, Stamps
from autosched.target.target import Target
from autosched_api.cache import FreshCache
from autosched_api.importing import ImportPool
from autosched_api.lookups import Lookups
from autosched_api.metrics import Metrics
from autosched_api.settings import Settings
from autosched_api.threads import StoreThreads

Result = TypeVar("Result")

FRESH_SECONDS = 1.0
"""How old a token, a worker or a target may be; revoking one takes effect within that."""

TOKENS_KEPT = 10_000
TARGETS_KEPT = 1_000


class Store(JobQueue, JobLeases, Catalog, TokenStore, WorkerRegistry, Protocol):
    """What the service asks of a database."""

    def bests(self, workload_keys: Sequence[str]) -> Mapping[str, tuple[BestRecord, ...]]:
        """The confirmed winners of each of these workloads."""
        ...

    def stamps(self, workload_keys: Sequence[str]) -> Mapping[str, Stamps]:
        """What tells the winners of each workload from all others."""
        ...

    def ping(self) -> None:
        """StoreError: the database does not answer."""
        ...

    def targets(self) -> Mapping[str, Mapping[str, Any]]:
        """The fields of every stored target by key."""
        ...

    def queue_depth(self) -> Mapping[str, int]:
        """Submitted jobs that have not ended, by state."""
        ...

    def ended_jobs(self) -> Mapping[str, int]:
        """Submitted jobs that have ended and are kept, by state."""
        ...

    def counters(self) -> Mapping[str, int]:
        """What `count` has added up."""
        ...

    def close_connections(self) -> None: ...


@dataclass(eq=False)
class Service:
    """`stopping` is set when the process has been told to end: streams end themselves then."""

    settings: Settings
    store: Store
    threads: StoreThreads
    importer: ImportPool
    metrics: Metrics
    log: Log
    tokens: FreshCache[str, Token | None]
    workers: FreshCache[str, tuple[Worker, ...]]
    targets: FreshCache[tuple[str, str], Target]
    lookups: Lookups
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    streams: Counter[str] = field(default_factory=Counter)
    uploading: Counter[str] = field(default_factory=Counter)

    async def run(self, work: Callable[[Store], Result]) -> Result:
        """The result of a call of the store, outside the event loop."""
        store = self.store
        return await self.threads.run(lambda: work(store))

    async def known_workers(self) -> tuple[Worker, ...]:
        """Every worker there ever was, a second old at most."""
        return await self.workers.get_or_read(
            "", lambda: self.run(lambda store: tuple(store.workers()))
        )

    def close(self) -> None:
        self.lookups.close()
        self.importer.close()
        self.threads.close()
        self.store.close_connections()


def make_service(settings: Settings, store: Store, log: Log) -> Service:
    """A service over an open store, which it closes at its end."""
    seconds, entries = settings.cache_seconds, settings.cache_entries
    threads = StoreThreads(settings.store_threads, settings.store_waiting)
    return Service(
        settings=settings,
        store=store,
        threads=threads,
        importer=ImportPool(settings, log),
        metrics=Metrics(),
        log=log,
        tokens=FreshCache(FRESH_SECONDS, TOKENS_KEPT),
        workers=FreshCache(FRESH_SECONDS, 1),
        targets=FreshCache(FRESH_SECONDS, TARGETS_KEPT),
        lookups=Lookups(store, threads, FreshCache(seconds, entries), seconds),
    )
