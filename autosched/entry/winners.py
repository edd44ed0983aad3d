"""The kernel of every workload of a source: the stored winner where there is one, else the default schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from autosched.codegen.c import generate_c
from autosched.codegen.kernel import Kernel
from autosched.entry.machine import Setup
from autosched.entry.space_version import SPACE_VERSION
from autosched.entry.work import Work
from autosched.errors import InvalidInput
from autosched.features.space import Space
from autosched.records.catalog import Catalog
from autosched.records.lookup import Answer, Match, Query, lookup
from autosched.records.record import Candidate
from autosched.records.store import BestRecord
from autosched.search.make import make_policy
from autosched.sketch.generate import generate
from autosched.sketch.sketch import Sketch, Values
from autosched.target.target import Target
from autosched.te.integer import evaluate
from autosched.te.workload import canonical_text
from autosched.tuning.codebook import Codebook
from autosched.tuning.task import Subject


@dataclass(frozen=True)
class Chosen:
    """The answer for one workload: a candidate with its text. `median_seconds` is the stored winner's, on the machine
    it was measured on."""

    subject: Subject
    match: Match
    reason: str
    candidate: Candidate
    kernel: Kernel
    trial_id: str | None = None
    median_seconds: float | None = None
    measured_at: datetime | None = None


@dataclass(frozen=True)
class Known:
    """What a catalog or a service knows of a workload's best kernel; no `candidate` for a default."""

    match: Match
    reason: str
    candidate: Candidate | None = None
    trial_id: str | None = None
    median_seconds: float | None = None
    measured_at: datetime | None = None


def choose(work: Work, setup: Setup, catalog: Catalog) -> list[Chosen]:
    """One answer a workload, in the order of the work's subjects."""
    return [_choose(s, setup, catalog) for s in work.subjects]


def defaults(work: Work, target: Target) -> list[Chosen]:
    """The default schedule of every workload, whatever is stored."""
    return [_default(s, codebook_of(s, target), "the default was asked for") for s in work.subjects]


def codebook_of(subject: Subject, target: Target) -> Codebook:
    """Everything that may be generated for a workload on a target."""
    return Codebook(subject.workload, target, generate(subject.workload, target), generate_c)


def chosen_of(subject: Subject, codebook: Codebook, known: Known) -> Chosen:
    """The kernel behind what is known: as it was, moved into this workload's domains, or the default schedule."""
    if known.candidate is None:
        return _default(subject, codebook, known.reason)
    if known.match == "nearest":
        return _near(subject, codebook, known, known.candidate)
    return Chosen(
        subject,
        known.match,
        known.reason,
        known.candidate,
        codebook.kernel(known.candidate),
        known.trial_id,
        known.median_seconds,
        known.measured_at,
    )


def _choose(subject: Subject, setup: Setup, catalog: Catalog) -> Chosen:
    codebook = codebook_of(subject, setup.target)
    query = Query(
        subject.workload.key,
        setup.target,
        setup.toolchain.key,
        canonical_text(subject.workload),
        SPACE_VERSION,
    )
    answer = lookup(catalog, query, lambda best: _digest(codebook, best))
    return chosen_of(subject, codebook, _known(answer))


def _known(answer: Answer) -> Known:
    best = answer.best
    if best is None:
        return Known(answer.match, answer.reason)
    return Known(
        answer.match,
        answer.reason,
        best.candidate,
        best.trial_id,
        best.timing.median_seconds,
        best.measured_at,
    )


def _digest(codebook: Codebook, best: BestRecord) -> str | None:
    try:
        return codebook.kernel(best.candidate).digest
    except InvalidInput:
        return None


def _near(subject: Subject, codebook: Codebook, known: Known, candidate: Candidate) -> Chosen:
    """The same sketch with values moved into this workload's domains; the default where no sketch takes them."""
    adapted = adapt(candidate, codebook)
    if adapted is None:
        return _default(subject, codebook, f"{known.reason}; its values do not fit here")
    moved = Chosen(subject, known.match, known.reason, adapted, codebook.kernel(adapted))
    return replace(moved, trial_id=known.trial_id, measured_at=known.measured_at)


def adapt(candidate: Candidate, codebook: Codebook) -> Candidate | None:
    """The candidate of the same structure whose values are the nearest allowed ones; None if constraints refuse it."""
    sketch = codebook.by_structure.get(candidate.structure_key)
    if sketch is None:
        return None
    values = {
        d.name: min(d.domain, key=lambda v, name=d.name: abs(v - candidate.values.get(name, v)))  # type: ignore[misc]
        for d in sketch.decisions
    }
    return codebook.candidate(sketch, values) if is_legal(sketch, values) else None


def is_legal(sketch: Sketch, values: Values) -> bool:
    """Whether every constraint holds for values of the sketch's domains."""
    environment = sketch.environment(values)
    return all(evaluate(c, environment) for c in sketch.constraints)


def _default(subject: Subject, codebook: Codebook, reason: str) -> Chosen:
    policy = make_policy("random", Space(codebook.sketches, codebook.target), seed=0)
    candidate = policy.default().candidate
    return Chosen(subject, "default", reason, candidate, codebook.kernel(candidate))
