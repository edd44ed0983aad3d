"""Build a source into a directory: every workload's best kernel compiled, constants packed, a manifest of it all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from autosched.db.store import open_store
from autosched.entry.machine import Setup, check_runs_here, set_up
from autosched.entry.winners import Chosen, choose
from autosched.entry.work import AnySource, Work, work_of
from autosched.errors import AutoschedError
from autosched.measure.build import LocalBuilder
from autosched.measure.protocol import Artefact, BuildResult
from autosched.runtime.directory import Build, Winner, write_directory
from autosched.runtime.manifest import Manifest


class BuildFailed(AutoschedError):
    """A chosen kernel did not compile; the message has the compiler's words."""


def build(
    source: AnySource,
    directory: Path,
    *,
    target: str = "host",
    threads: int | None = None,
    db: str | None = None,
    compiler: str | None = None,
) -> Manifest:
    """Writes a directory that `load` runs without a compiler. Raises InvalidInput as `tune`, BuildFailed."""
    setup = set_up(target, threads, compiler)
    check_runs_here(setup)
    work = work_of(source)
    with open_store(db) as store:
        chosen = choose(work, setup, store)
    return build_chosen(work, chosen, setup, directory)


def build_chosen(work: Work, chosen: Sequence[Chosen], setup: Setup, directory: Path) -> Manifest:
    """The directory of these kernels."""
    artefacts = compiled(chosen, setup)
    winners = {
        c.subject.workload.key: Winner(a, c.match, c.trial_id, c.median_seconds)
        for c, a in zip(chosen, artefacts, strict=True)
    }
    plan = work.plan
    what = Build(work.name, plan, winners, setup.target, setup.toolchain, work.weights_are_inputs)
    return write_directory(what, directory)


def compiled(chosen: Sequence[Chosen], setup: Setup) -> list[Artefact]:
    """The chosen kernels as shared objects; BuildFailed names the first that did not compile."""
    jobs = len(os.sched_getaffinity(0))
    with LocalBuilder(setup.toolchain, setup.target.isa, jobs=jobs) as builder:
        results = builder.build([c.kernel for c in chosen])
    return [_artefact(c, r) for c, r in zip(chosen, results, strict=True)]


def _artefact(chosen: Chosen, result: BuildResult) -> Artefact:
    if result.artefact is None:
        raise BuildFailed(f"{chosen.subject.name}: {result.outcome}: {result.error}")
    return result.artefact
