"""The kernels that a service knows for a source: keys made here, answers looked up there, texts generated here.

What a service answers is data: a derivation must be one that the rules of this version give, every value one of its
domain, every constraint kept, before any text is made of it. Whatever fails that is replaced by the default schedule,
and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autosched.client import BestLookup, Client, Found, InvalidRequest, LookupMiss
from autosched.client.lookup import ServedTarget
from autosched.entry.build import build_chosen
from autosched.entry.machine import Setup, check_runs_here, set_up
from autosched.entry.served_target import find, nearest
from autosched.entry.winners import Chosen, Known, chosen_of, codebook_of, is_legal
from autosched.entry.work import AnySource, Work, work_of
from autosched.errors import InvalidInput
from autosched.records.record import Candidate
from autosched.runtime.manifest import Manifest
from autosched.target.target import Target
from autosched.te.workload import canonical_text
from autosched.tuning.codebook import Codebook
from autosched.tuning.task import Subject
from autosched.wire.best import BestDocument
from autosched.wire.number import seconds
from autosched.wire.problem import PREFIX

NAMED = 5
"""Tasks that an error names."""


@dataclass(frozen=True)
class ServedBest:
    """The kernels of a source, and how each answer came: `found` runs beside `chosen`."""

    work: Work
    chosen: tuple[Chosen, ...]
    found: tuple[Found, ...]


def served_best(
    source: AnySource,
    client: Client,
    cache_dir: Path,
    *,
    target: str = "host",
    threads: int | None = None,
    compiler: str | None = None,
) -> ServedBest:
    """One answer a workload. LookupMiss: the service is away and the cache has no answer. InvalidInput: as `tune`."""
    return _ask(source, client, cache_dir, set_up(target, threads, compiler))


def served_build(
    source: AnySource,
    directory: Path,
    client: Client,
    cache_dir: Path,
    *,
    target: str = "host",
    threads: int | None = None,
    compiler: str | None = None,
) -> tuple[Manifest, ServedBest]:
    """A directory as `build` makes it, of the kernels that a service knows, compiled here."""
    setup = set_up(target, threads, compiler)
    check_runs_here(setup)
    best = _ask(source, client, cache_dir, setup)
    return build_chosen(best.work, best.chosen, setup, directory), best


def _ask(source: AnySource, client: Client, cache_dir: Path, setup: Setup) -> ServedBest:
    work = work_of(source)
    keys = [s.workload.key for s in work.subjects]
    lookup = BestLookup(client, cache_dir, locate=lambda c: _locate(c, setup.target, keys[0]))
    try:
        found = lookup.many(
            keys,
            setup.target.key,
            texts=[canonical_text(s.workload) for s in work.subjects],
            threads=setup.target.threads,
            toolchain=setup.toolchain.key,
        )
    except LookupMiss as miss:
        raise _named(miss, work) from miss
    answers = [f.answer for f in found]
    return ServedBest(work, tuple(choose_served(work, setup, answers)), tuple(found))


def choose_served(work: Work, setup: Setup, answers: Sequence[BestDocument]) -> list[Chosen]:
    """The kernel of each subject from its answer."""
    return [_choose(s, setup, a) for s, a in zip(work.subjects, answers, strict=True)]


def _named(miss: LookupMiss, work: Work) -> LookupMiss:
    """With the names of the tasks that are missing, which keys do not tell."""
    names = [s.name for s in work.subjects if s.workload.key in miss.workloads]
    more = ", ..." if len(names) > NAMED else ""
    return LookupMiss(f"{miss} (tasks {', '.join(names[:NAMED])}{more})", miss.workloads)


def _locate(client: Client, target: Target, workload_key: str) -> ServedTarget:
    """The target as workers of the service have it, or as it stands in the database; else the nearest that runs
    here."""
    offered = client.targets().items
    same = find(offered, target)
    if same is not None:
        return same
    if _is_stored(client, target, workload_key):
        return ServedTarget(target.key)
    return nearest(offered, target)


def _is_stored(client: Client, target: Target, workload_key: str) -> bool:
    """Whether winners of a machine that is no worker there are, asked by a question about any workload."""
    try:
        client.best(workload_key, target.key)
    except InvalidRequest as error:
        if error.type == PREFIX + "no-such-target":
            return False
        raise
    return True


def _choose(subject: Subject, setup: Setup, answer: BestDocument) -> Chosen:
    codebook = codebook_of(subject, setup.target)
    return chosen_of(subject, codebook, _known(codebook, answer))


def _known(codebook: Codebook, answer: BestDocument) -> Known:
    """The answer with its candidate, if this version can make that."""
    if not answer.derivation:
        return Known("default", answer.reason)
    candidate = Candidate(tuple(answer.derivation), answer.values, f"of {answer.trial}")
    known = Known(
        answer.match,
        answer.reason,
        candidate,
        answer.trial,
        seconds(answer.median_us),
        answer.measured_at,
    )
    return known if answer.match == "nearest" else _checked(codebook, known, candidate, answer)


def _checked(codebook: Codebook, known: Known, candidate: Candidate, answer: BestDocument) -> Known:
    """An exact or compatible answer, held against today's rules."""
    try:
        sketch = codebook.sketch(candidate)
        if candidate not in codebook or not is_legal(sketch, candidate.values):
            raise InvalidInput(f"candidate {candidate.key}: its values are not allowed here")
        digest = codebook.kernel(candidate).digest
    except InvalidInput as error:
        return Known("default", f"the service's answer is not used: {error}")
    if known.match == "exact" and answer.source_digest not in {None, digest}:
        return replace(known, match="compatible", reason="its candidate gives another text now")
    return known
