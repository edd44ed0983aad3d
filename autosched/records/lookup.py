"""The best known configuration for a workload on a machine: a pure function of the request and what is stored.

The first row that holds, and in it the nearest winner, is the answer:

| match | workload | target | toolchain | generated text |
|---|---|---|---|---|
| exact | same | same | same, or none asked | what the candidate gives now is what was timed |
| compatible | same | code made for the stored one runs on the asked one | any | the candidate still gives a text |
| nearest | same, or same but for extents | same kind | any | any: values are to be adapted |
| default | none of these is stored | | | |

Winners are replayed in the order of their distance, until one gives a text.

Distance: |log2| of the ratio of each differing number of the target and of each extent, plus 1 for any other differing
field, for another toolchain and for another text; an exact answer has 0, a default an infinite one. Equally near ones
are told apart by their time, then by trial id, so that an unrelated insert never changes an answer. Whether code runs
is `target.obstacles`: kind, instruction set and features decide, sizes and threads do not.

Of other shapes only the `NEAR_SHAPES` winners nearest in size are seen: two sizes differ by no more than the distance
of the shapes, so that nothing is missed unless there are more of them than that within the answer's distance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Literal, Protocol

from autosched.errors import InvalidInput
from autosched.records.family import extents, extents_distance, family_key, log2_size
from autosched.records.store import BestRecord, Relative
from autosched.target.compare import differences, obstacles
from autosched.target.files import parse_target
from autosched.target.target import Target

Match = Literal["exact", "compatible", "nearest", "default"]

Replay = Callable[[BestRecord], str | None]
"""The digest of the text that a winner's candidate gives with this version; None if it gives none any more."""


NEAR_SHAPES = 100
"""Winners of other shapes that a lookup compares."""


class Winners(Protocol):
    """What a lookup reads: the part of a `Catalog` that knows winners."""

    def best(
        self, workload_key: str, target_key: str | None = None, toolchain_key: str | None = None
    ) -> tuple[BestRecord, ...]: ...

    def family_best(
        self, family_key: str, *, log2_size: float, limit: int
    ) -> tuple[Relative, ...]: ...

    def workload_text(self, workload_key: str) -> str | None: ...

    def target(self, target_key: str) -> Mapping[str, Any] | None: ...


@dataclass(frozen=True)
class Query:
    """What is asked. No `toolchain_key` means any. `workload_text` (canonical te) finds other shapes of a workload that
    was never stored. `space_version` is ours: where nothing is replayed, a winner of another version may give another
    text."""

    workload_key: str
    target: Target
    toolchain_key: str | None = None
    workload_text: str = ""
    space_version: str = ""


@dataclass(frozen=True)
class Answer:
    """`best` is None for a default alone. `reason` is one sentence for a person."""

    match: Match
    reason: str
    distance: float
    best: BestRecord | None = None


@dataclass(frozen=True)
class _Found:
    """A stored winner seen from the query: what differs, and how far that is."""

    best: BestRecord
    differs: tuple[str, ...]
    hinders: tuple[str, ...]
    distance: float

    @property
    def rank(self) -> tuple[float, float, str]:
        return self.distance, self.best.timing.median_seconds, self.best.trial_id


@dataclass(frozen=True)
class _Host:
    """A stored target seen from the asked one."""

    differs: tuple[str, ...]
    hinders: tuple[str, ...]
    distance: float


@dataclass
class _View:
    """What one lookup reads, no target twice."""

    catalog: Winners
    query: Query
    hosts: dict[str, _Host | None] = field(default_factory=dict)

    def host(self, target_key: str) -> _Host | None:
        """None if the stored target is of another kind, or is not known well enough to compare."""
        if target_key not in self.hosts:
            fields = self.catalog.target(target_key)
            text = json.dumps(dict(fields or {}), sort_keys=True)
            self.hosts[target_key] = _compare(text, self.query.target)
        return self.hosts[target_key]


@lru_cache(maxsize=4096)
def _compare(stored_text: str, asked: Target) -> _Host | None:
    """The target of these fields, as JSON. There are few, and each is compared for every winner on it."""
    try:
        stored = parse_target(stored_text, "stored")
    except InvalidInput:
        return None
    if stored.kind != asked.kind:
        return None
    hinders = obstacles(stored, asked)
    differs = tuple(d for d in differences(stored, asked) if d not in hinders)
    return _Host(differs, tuple(hinders), _target_distance(stored, asked))


def lookup(catalog: Winners, query: Query, replay: Replay | None = None) -> Answer:
    """The answer by the table above."""
    view = _View(catalog, query)
    winners = _ranked(_seen(view, best) for best in catalog.best(query.workload_key))
    for found in winners:
        answer = None if found.hinders else _same_workload(query, found, replay)
        if answer is not None:
            return answer
    others = _ranked([*winners, *_other_shapes(view)])
    near = next((f for f in others if f.best.workload_key != query.workload_key or f.hinders), None)
    if near is not None:
        why = "; ".join((*near.hinders, *near.differs))
        return Answer("nearest", f"values of a near winner: {why}", near.distance, near.best)
    if winners:
        return Answer("default", "no stored candidate gives a text with this version", math.inf)
    return Answer("default", "no winner of this workload or of its shapes is stored", math.inf)


def _ranked(found: Sequence[_Found | None] | Iterator[_Found | None]) -> list[_Found]:
    return sorted((f for f in found if f is not None), key=lambda f: f.rank)


def _seen(view: _View, best: BestRecord) -> _Found | None:
    """None where its target cannot be compared."""
    host, asked = view.host(best.target_key), view.query.toolchain_key
    if host is None:
        return None
    if asked in {None, best.toolchain_key}:
        return _Found(best, host.differs, host.hinders, host.distance)
    toolchain = f"toolchain: have {asked}, need {best.toolchain_key}"
    return _Found(best, (*host.differs, toolchain), host.hinders, host.distance + 1)


def _same_workload(query: Query, found: _Found, replay: Replay | None) -> Answer | None:
    """Exact or compatible; None if the candidate gives no text any more."""
    best, differs, distance = found.best, found.differs, found.distance
    if replay is not None:
        digest = replay(best)
        if digest is None:
            return None
        if digest != best.source_digest:
            differs, distance = (*differs, "its candidate gives another text now"), distance + 1
    elif best.space_version != query.space_version:
        version = f"it is of space version {best.space_version!r}, and its text was not replayed"
        differs, distance = (*differs, version), distance + 1
    if differs:
        return Answer("compatible", "; ".join(differs), distance, best)
    return Answer("exact", "same workload, target, toolchain and text", 0.0, best)


def _other_shapes(view: _View) -> Iterator[_Found]:
    """Winners of other workloads of the family."""
    query = view.query
    text = query.workload_text or view.catalog.workload_text(query.workload_key)
    if not text:
        return
    asked = extents(text)
    for near in view.catalog.family_best(
        family_key(text), log2_size=log2_size(text), limit=NEAR_SHAPES
    ):
        found = _seen(view, near.best)
        if near.best.workload_key == query.workload_key or found is None:
            continue
        there = extents(near.workload_text)
        shape = f"extents: have {asked}, need {there}"
        distance = found.distance + extents_distance(asked, there)
        yield _Found(near.best, (shape, *found.differs), found.hinders, distance)


def _target_distance(stored: Target, asked: Target) -> float:
    pairs = zip(asdict(stored).values(), asdict(asked).values(), strict=True)
    return sum(_field_distance(a, b) for a, b in pairs if a != b)


def _field_distance(a: object, b: object) -> float:
    if isinstance(a, int) and isinstance(b, int):
        return abs(math.log2(max(a, 0.5)) - math.log2(max(b, 0.5)))
    return 1.0
