"""Why a job waits, in a sentence: nobody is there who could measure it, or others come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from autosched.jobs.queue import Waiting
from autosched.jobs.record import SetupKey, Submitted
from autosched.jobs.workers import Worker
from autosched.target.compare import toolchain_differences
from autosched.wire.key import rfc3339
from autosched.wire.machine import can_measure, is_alive
from autosched_api.resolve import fewest_differences, quarantine, registered, target_of, variants

WAITING_SHOWN = 100


def pending_reason(
    submitted: Submitted,
    workers: Sequence[Worker],
    queue: Mapping[SetupKey, Sequence[Waiting]],
    now: datetime,
) -> str | None:
    """None for a job that needs not wait. `queue`: the first waiting jobs by setup."""
    if submitted.is_terminal:
        return None
    key = submitted.job.spec.target_key
    having = [w for w in workers if _has(w, key)]
    alive = [w for w in having if can_measure(w, now)]
    if not alive:
        why = _away(key, having, [w for w in workers if can_measure(w, now)])
        unusable = [w for w in having if w.state == "quarantined" and is_alive(w, now)]
        return "; ".join([why, *map(quarantine, unusable)])
    need = submitted.job.spec.toolchain_key
    have = {w.toolchain_key: w for w in sorted(alive, key=lambda w: w.toolchain_key)}
    if need not in have:
        lacks = _compilers(next((w for w in workers if w.toolchain_key == need), None), have)
        return (
            f"no live worker: need toolchain {need}, have {', '.join(have)}{lacks}: submit it again"
        )
    if submitted.state != "queued":
        return None
    return _position(submitted, queue.get(submitted.setup, ()))


def _has(worker: Worker, target_key: str) -> bool:
    target = target_of(worker) if worker.devices else None
    return target is not None and target_key in variants(target)


def _away(key: str, having: Sequence[Worker], alive: Sequence[Worker]) -> str:
    last = max((w.seen_at for w in having if w.seen_at is not None), default=None)
    since = "" if last is None else f" since {rfc3339(last)}"
    others = registered(alive)
    if not others:
        return f"no live worker{since}: need target {key}, have none"
    need = next((t for w in having if (t := target_of(w)) is not None), None)
    have = [t for _, t in others.values()]
    lacks = "" if need is None else f" ({fewest_differences(need, have)})"
    return f"no live worker{since}: need target {key}, have {', '.join(others)}{lacks}"


def _compilers(needed: Worker | None, have: Mapping[str, Worker]) -> str:
    """What the nearest of these compilers lacks; "" where it is not known what is needed."""
    if needed is None:
        return ""
    lacks = [toolchain_differences(needed.toolchain, w.toolchain) for w in have.values()]
    fewest: list[str] = min(lacks, key=len)
    return f" ({'; '.join(fewest)})"


def _position(submitted: Submitted, waiting: Sequence[Waiting]) -> str:
    ahead = next((i for i, w in enumerate(waiting) if w.job_id == submitted.id), None)
    if ahead is None:
        return "queued behind other jobs of the same owner"
    return "next in the queue" if ahead == 0 else f"position {ahead + 1} in the queue"
