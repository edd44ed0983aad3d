"""Which target a request means: a key or a name, held against what workers have, or had.

A worker runs any number of threads up to its most, and each number is a target of its own key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from autosched.errors import InvalidInput
from autosched.jobs.workers import Worker
from autosched.target.compare import differences
from autosched.target.files import HOST, load_target, parse_target, target_names
from autosched.target.target import Target
from autosched_api.problems import Problem, refused_field


@dataclass(frozen=True)
class Place:
    """A target that can be measured on, with the toolchain of its latest worker."""

    target: Target
    toolchain_key: str
    toolchain: Mapping[str, Any]

    @property
    def fields(self) -> dict[str, Any]:
        return stored_fields(self.target)


def stored_fields(target: Target) -> dict[str, Any]:
    """The fields as JSON gives them back."""
    fields: dict[str, Any] = json.loads(json.dumps(asdict(target)))
    return fields


@lru_cache(maxsize=256)
def _parsed(text: str, origin: str) -> Target:
    return parse_target(text, origin)


def target_of(worker: Worker) -> Target | None:
    """A worker's target at its most threads; None where this version cannot read it."""
    try:
        return _parsed(json.dumps(dict(worker.target), sort_keys=True), worker.target_key)
    except InvalidInput:
        return None


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, Target]:
    """The targets that have names."""
    return {name: load_target(name) for name in target_names()}


@lru_cache(maxsize=1024)
def variants(target: Target) -> Mapping[str, Target]:
    """Key -> the target with each number of threads that its workers run."""
    made = (replace(target, threads=n) for n in range(1, target.threads + 1))
    return {t.key: t for t in made}


def registered(workers: Sequence[Worker]) -> dict[str, tuple[Worker, Target]]:
    """The distinct targets of workers at their most threads, each with its latest worker, those still there first; what
    is quarantined or has no device cannot be asked for."""
    found: dict[str, tuple[Worker, Target]] = {}
    usable = (w for w in workers if w.devices and w.state != "quarantined")
    for worker in sorted(usable, key=lambda w: w.state == "gone"):
        target = target_of(worker)
        if target is not None:
            found.setdefault(target.key, (worker, target))
    return found


def resolve_place(workers: Sequence[Worker], asked: str | None, threads: int | None) -> Place:
    """Where a job runs. Problem: no default, or a target that no worker ever had, field by field."""
    known = registered(workers)
    if not known:
        why = "; ".join(map(quarantine, workers))
        raise Problem("no-such-target", why or "no worker has registered yet: there is no target")
    if asked is None:
        if len(known) > 1:
            raise refused_field(
                "/target", "missing", None, f"several are registered, name one: {_listed(known)}"
            )
        worker, target = next(iter(known.values()))
        return _place(worker, target, threads)
    for worker, target in known.values():
        if asked in variants(target):
            return _place(worker, target, threads or variants(target)[asked].threads)
    need = shipped().get(asked)
    if need is None:
        unusable = [w for w in workers if (t := target_of(w)) is not None and asked in variants(t)]
        raise unknown_target(
            asked, "; ".join([f"; have {_listed(known)}", *map(quarantine, unusable)])
        )
    for worker, target in known.values():
        if _same_but_threads(need, target):
            return _place(worker, target, threads or min(need.threads, target.threads))
    lacks = fewest_differences(need, (t for _, t in known.values()))
    raise Problem("no-such-target", f"no worker ever had target {asked!r}: {lacks}")


def quarantine(worker: Worker) -> str:
    """Of a worker that is there and cannot be used."""
    return f"worker {worker.id} of target {worker.target_key} is quarantined: {worker.note}"


def unknown_target(asked: str, have: str = "") -> Problem:
    """What is asked for is no target; `have` says which are."""
    if asked == HOST:
        why = (
            f"{HOST!r} is known to the command line alone, which looks at its own machine: name a key or a name of "
            "/v1/targets"
        )
        return Problem("no-such-target", why + have)
    names = ", ".join(shipped())
    return Problem(
        "no-such-target",
        f"need {asked!r}, which is neither a stored key nor a name ({names}){have}",
    )


def _same_but_threads(a: Target, b: Target) -> bool:
    return replace(a, threads=1) == replace(b, threads=1)


def _place(worker: Worker, target: Target, threads: int | None) -> Place:
    wanted = target.threads if threads is None else threads
    if wanted > target.threads:
        raise refused_field(
            "/threads",
            "less_than_equal",
            threads,
            f"threads: need {wanted}, have at most {target.threads}",
        )
    return Place(replace(target, threads=wanted), worker.toolchain_key, worker.toolchain)


def _listed(known: Mapping[str, tuple[Worker, Target]]) -> str:
    return ", ".join(f"{key} ({t.isa} {t.core_kind})" for key, (_, t) in known.items())


def fewest_differences(need: Target, have: Iterable[Target]) -> str:
    """What the nearest of these lacks, threads apart."""
    lacks = [differences(replace(need, threads=h.threads), h) for h in have]
    fewest: list[str] = min(lacks, key=len)
    return "; ".join(fewest)


def names_of(target: Target) -> list[str]:
    """The shipped names that a target answers to."""
    return [name for name, other in shipped().items() if _same_but_threads(other, target)]
