"""Ask the database for the best configuration of every workload of a source. Nothing is measured."""

from __future__ import annotations

from autosched.db.store import open_store
from autosched.entry.machine import set_up
from autosched.entry.winners import Chosen, choose
from autosched.entry.work import AnySource, work_of


def best(
    source: AnySource,
    *,
    target: str = "host",
    threads: int | None = None,
    db: str | None = None,
) -> list[Chosen]:
    """One answer a workload: exact, compatible, nearest or default, with the reason. InvalidInput: as `tune`."""
    setup = set_up(target, threads)
    work = work_of(source)
    with open_store(db) as store:
        return choose(work, setup, store)
