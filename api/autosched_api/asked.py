"""The target of a question about winners: wider than that of a job, since nothing has to be measured there.

A key or name of a registered target, at any number of threads, the name of a shipped one, or the key of any target that
is stored.
"""

from __future__ import annotations

from dataclasses import replace

from autosched.errors import InvalidInput
from autosched.target.files import target_of_fields
from autosched.target.target import Target
from autosched_api.problems import refused_field
from autosched_api.resolve import registered, resolve_place, shipped, unknown_target, variants
from autosched_api.service import Service


async def asked_target(service: Service, asked: str | None, threads: int | None) -> Target:
    """The target that is meant. Problem: no default, or a target that nobody knows."""
    key = (asked or "", str(threads or ""))
    return await service.targets.get_or_read(key, lambda: _find(service, asked, threads))


async def _find(service: Service, asked: str | None, threads: int | None) -> Target:
    workers = await service.known_workers()
    if asked is None:
        return resolve_place(workers, None, threads).target
    for _, target in registered(workers).values():
        if asked in variants(target):
            return _at(variants(target)[asked], threads)
    if asked in shipped():
        return _at(shipped()[asked], threads)
    fields = await service.run(lambda store: store.target(asked))
    if fields is None:
        raise unknown_target(asked)
    try:
        return _at(target_of_fields(fields, asked), threads)
    except InvalidInput as error:
        raise refused_field("target", "target", asked, str(error)) from None


def _at(target: Target, threads: int | None) -> Target:
    return target if threads is None else replace(target, threads=threads)
