"""A machine of ours among the targets of a service.

A service knows a target at the most threads its workers run; a job or a question may ask for fewer. So a target is
found there by every field but the threads. Where none is the same, code made for another may still run here: the
nearest of those, with what differs, so that its answers are taken as compatible and never as exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autosched.client.lookup import ServedTarget
from autosched.errors import InvalidInput
from autosched.target.compare import differences, obstacles
from autosched.target.files import HOST, resolve_target, target_names, target_of_fields
from autosched.target.target import Target
from autosched.wire.machine import TargetDocument


def find(offered: Sequence[TargetDocument], wanted: Target) -> ServedTarget | None:
    """The service's target that is this machine, if it has one."""
    for document, fields in _known(offered):
        if replace(fields, threads=wanted.threads) == wanted and wanted.threads <= fields.threads:
            return ServedTarget(document.key, wanted.threads)
    return None


def nearest(offered: Sequence[TargetDocument], wanted: Target) -> ServedTarget:
    """The service's target that differs least of those whose code runs on a machine. InvalidInput: there is none, with
    what each lacks."""
    known = _known(offered)
    running = [(d, f) for d, f in known if not obstacles(f, wanted)]
    if not running:
        hindered = "; ".join(f"{d.key}: {', '.join(obstacles(f, wanted))}" for d, f in known)
        raise InvalidInput(
            f"target {wanted.key}: the service has none whose code runs on it ({hindered or 'it has no target yet'})"
        )
    document, fields = min(running, key=lambda pair: _strangeness(pair[1], wanted))
    threads = min(wanted.threads, fields.threads)
    differs = differences(replace(fields, threads=threads), wanted)
    return ServedTarget(document.key, threads, "; ".join(differs))


def submitted_target(offered: Sequence[TargetDocument], name: str, threads: int | None) -> str:
    """The target of a job as the service names it: a machine or a file of ours must be one of its own."""
    wanted = resolve_target(name, threads)
    same = find(offered, wanted)
    if same is not None:
        return same.target
    near = nearest(offered, wanted)
    raise InvalidInput(
        f"target {name!r}: the service has none like it; {near.target} is the nearest ({near.differs})"
    )


def is_ours(name: str) -> bool:
    """Whether only this machine knows what the name stands for."""
    return name == HOST or (name not in target_names() and ("/" in name or name.endswith(".json")))


def _known(offered: Sequence[TargetDocument]) -> list[tuple[TargetDocument, Target]]:
    return [(document, f) for document in offered if (f := _fields(document)) is not None]


def _fields(document: TargetDocument) -> Target | None:
    """None for a target of another version's making."""
    try:
        return target_of_fields(document.fields, document.key)
    except InvalidInput:
        return None


def _strangeness(have: Target, wanted: Target) -> tuple[int, str]:
    return len(differences(replace(have, threads=wanted.threads), wanted)), have.key
