"""Best configurations, fast: answers by the rules of `autosched.records.lookup`, read in batches, kept for a second.

Requests that miss the cache while a batch is read wait for the next one, so that many at once cost one query. An answer
is kept as the bytes that go out; it is as old as the read it came from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from autosched.entry.space_version import SPACE_VERSION
from autosched.records.lookup import Answer, Query, Winners, lookup
from autosched.records.store import BestRecord, Relative, Stamps
from autosched.target.target import Target
from autosched.wire.best import BestDocument
from autosched.wire.number import microseconds
from autosched_api.cache import FreshCache
from autosched_api.renewing import Found, Key, Renewal, StampStore
from autosched_api.threads import StoreThreads

BATCH = 100

OWN_MATCHES = frozenset({"exact", "compatible"})
"""Answers that depend on winners of the asked workload alone; the others look at its relatives too."""

KEPT_TARGETS = 1_000


@dataclass(frozen=True)
class Asked:
    """One question; `name` and `workload_text` where the client gave a graph."""

    workload_key: str
    target: Target
    toolchain_key: str | None = None
    name: str = ""
    workload_text: str = ""

    @property
    def key(self) -> Key:
        """What the answer depends on; a text depends on its key."""
        known = "text" if self.workload_text else ""
        return (
            self.workload_key,
            self.target.key,
            self.toolchain_key or "",
            self.name,
            known,
        )


class WinnerStore(Winners, StampStore, Protocol):
    """What is read in batches."""

    def bests(self, workload_keys: Sequence[str]) -> Mapping[str, tuple[BestRecord, ...]]: ...


class Lookups:
    """For the event loop. `find` answers one question, `find_all` many in order."""

    def __init__(
        self,
        store: WinnerStore,
        threads: StoreThreads,
        kept: FreshCache[Key, Found],
        seconds: float,
    ) -> None:
        self._shelf = _Shelf(store)
        self._renewal = Renewal(store, threads, kept, seconds)
        self._threads = threads
        self._kept = kept
        self._waiting: dict[Key, tuple[Asked, asyncio.Future[Found]]] = {}
        self._reader: asyncio.Task[None] | None = None

    def kept(self, asked: Asked) -> Found | None:
        """The answer, if a fresh one is at hand."""
        key = asked.key
        found = self._kept.get(key)
        if found is not None and found.stamps is not None:
            self._renewal.note(key)
        return found

    def close(self) -> None:
        """Renews nothing any more."""
        self._renewal.close()

    async def find(self, asked: Asked) -> Found:
        found = self.kept(asked)
        return found if found is not None else await asyncio.shield(self._wait(asked))

    async def find_all(self, asked: Sequence[Asked]) -> list[Found]:
        kept = [self.kept(a) for a in asked]
        missing = [self._wait(a) for a, found in zip(asked, kept, strict=True) if found is None]
        read = iter(await asyncio.shield(asyncio.gather(*missing)) if missing else ())
        return [found if found is not None else next(read) for found in kept]

    def _wait(self, asked: Asked) -> asyncio.Future[Found]:
        """The answer of the next batch."""
        waiting = self._waiting.get(asked.key)
        if waiting is None:
            loop = asyncio.get_running_loop()
            waiting = self._waiting[asked.key] = (asked, loop.create_future())
            if self._reader is None:
                self._reader = loop.create_task(self._read_all())
        return waiting[1]

    async def _read_all(self) -> None:
        """One batch after the other, for they share a connection, until nobody waits: between that and the end of the
        reader no turn of the loop lies, so that whoever asks next starts another."""
        try:
            while self._waiting:
                keys = list(self._waiting)[:BATCH]
                await self._read([self._waiting.pop(key) for key in keys])
        finally:
            self._reader = None

    async def _read(self, batch: Sequence[tuple[Asked, asyncio.Future[Found]]]) -> None:
        now = self._kept.now()
        try:
            questions = [asked for asked, _ in batch]
            found = await self._threads.run(lambda: self._shelf.answer(questions))
        except Exception as error:
            for _, future in batch:
                future.set_exception(error)
                future.exception()  # one whose client has left is nobody's
            return
        for (asked, future), answer in zip(batch, found, strict=True):
            self._kept.put(asked.key, answer, now)
            future.set_result(answer)


class _Shelf:
    """The store as a batch of lookups reads it: winners of the asked workloads at once, targets never twice."""

    def __init__(self, store: WinnerStore) -> None:
        self._store = store
        self._targets: dict[str, Mapping[str, Any] | None] = {}

    def answer(self, questions: Sequence[Asked]) -> list[Found]:
        read = _Read(self._store, self, self._store.bests([q.workload_key for q in questions]))
        return [_found(q, lookup(read, _query(q)), read.stamps(q.workload_key)) for q in questions]

    def target(self, target_key: str) -> Mapping[str, Any] | None:
        """A key stands for its fields for ever."""
        found = self._targets.get(target_key)
        if found is None:
            found = self._store.target(target_key)
            if len(self._targets) >= KEPT_TARGETS:
                self._targets.clear()
            self._targets[target_key] = found
        return found


@dataclass(frozen=True)
class _Read:
    """One batch's view."""

    store: WinnerStore
    shelf: _Shelf
    winners: Mapping[str, tuple[BestRecord, ...]]

    def best(
        self, workload_key: str, target_key: str | None = None, toolchain_key: str | None = None
    ) -> tuple[BestRecord, ...]:
        return self.winners.get(workload_key, ())

    def stamps(self, workload_key: str) -> Stamps:
        winners = self.winners.get(workload_key, ())
        return tuple((b.target_key, b.toolchain_key, b.measured_at) for b in winners)

    def family_best(self, family_key: str, *, log2_size: float, limit: int) -> tuple[Relative, ...]:
        return self.store.family_best(family_key, log2_size=log2_size, limit=limit)

    def workload_text(self, workload_key: str) -> str | None:
        return self.store.workload_text(workload_key)

    def target(self, target_key: str) -> Mapping[str, Any] | None:
        return self.shelf.target(target_key)


def _query(asked: Asked) -> Query:
    return Query(
        asked.workload_key, asked.target, asked.toolchain_key, asked.workload_text, SPACE_VERSION
    )


def _found(asked: Asked, answer: Answer, stamps: Stamps) -> Found:
    best = answer.best
    document = BestDocument(
        name=asked.name or asked.workload_key,
        workload_key=asked.workload_key,
        match=answer.match,
        reason=answer.reason,
        trial=None if best is None else best.trial_id,
        derivation=[] if best is None else [dict(step) for step in best.candidate.derivation],
        values={} if best is None else dict(best.candidate.values),
        median_us=None if best is None else microseconds(best.timing.median_seconds),
        measured_at=None if best is None else best.measured_at,
        source_digest=None if best is None else best.source_digest,
    )
    is_own = answer.match in OWN_MATCHES
    return Found(document.model_dump_json().encode(), answer.match, stamps if is_own else None)
