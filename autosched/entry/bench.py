"""Compare our kernels with other libraries, case by case: tune if asked, build, let the contenders take turns."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autosched.bench.contender import Contender
from autosched.bench.rounds import CONTENDED_LIMIT, Comparison, compare, play
from autosched.bench.subject import CaseSubject, DirectorySubject, ModelSubject, Subject
from autosched.db.store import open_store
from autosched.entry.build import build_chosen
from autosched.entry.machine import DEVICE, Setup, check_runs_here, set_up
from autosched.entry.tune import tune
from autosched.entry.winners import choose, defaults
from autosched.entry.work import Work, work_of
from autosched.errors import AutoschedError, InvalidInput
from autosched.measure.device_lock import device_lock
from autosched.measure.runner import default_cpus
from autosched.ops.suite import suite_case, suite_names
from autosched.tuning.events import Listener, Notice, silent

PEERS = ("torch", "numpy", "onnxruntime")
TRIES = 3


class BenchFailed(AutoschedError):
    """A contender of ours could not run; the message names the case."""


@dataclass(frozen=True)
class CaseResult:
    """One case; `how` says which of its forms a library chose."""

    name: str
    comparison: Comparison
    how: dict[str, str]
    threads: int


@dataclass(frozen=True)
class BenchOptions:
    """`trials` > 0 tunes each case first, with that budget."""

    peers: tuple[str, ...] = PEERS
    trials: int = 0
    seed: int = 0
    target: str = "host"
    threads: int | None = None
    db: str | None = None


def bench(
    sources: Sequence[str],
    options: BenchOptions,
    *,
    listen: Listener = silent,
    on_case: Callable[[CaseResult], None] = lambda case: None,
) -> list[CaseResult]:
    """One result a case of the suite or a model. InvalidInput: an unknown peer, or anything wrong with a source. An
    interrupt while a case is tuned keeps its trials and ends the whole comparison."""
    unknown = sorted(set(options.peers) - set(PEERS))
    if unknown:
        raise InvalidInput(f"peer {unknown[0]!r}: must be one of {', '.join(PEERS)}")
    if options.trials < 0:
        raise InvalidInput(f"trials {options.trials}: must be at least 0")
    setup = set_up(options.target, options.threads)
    check_runs_here(setup)
    results = []
    for source in expanded(sources):
        result = _case(source, options, setup, listen)
        on_case(result)
        results.append(result)
    return results


def expanded(sources: Sequence[str]) -> list[str]:
    """Every case by its own name, in order, each once."""
    found: list[str] = []
    for source in sources:
        scheme, _, pattern = source.partition(":")
        names = suite_names(pattern) if scheme == "suite" else None
        found += [f"suite:{n}" for n in names] if names is not None else [source]
    return list(dict.fromkeys(found))


def _case(source: str, options: BenchOptions, setup: Setup, listen: Listener) -> CaseResult:
    work = work_of(source)
    if options.trials:
        report = tune(
            source,
            trials=options.trials,
            target=options.target,
            threads=options.threads,
            db=options.db,
            seed=options.seed,
            listen=listen,
        )
        if report.interrupted:
            raise KeyboardInterrupt
    with tempfile.TemporaryDirectory(prefix="autosched-bench-") as name:
        folder = Path(name)
        with open_store(options.db) as store:
            build_chosen(work, choose(work, setup, store), setup, folder / "ours")
        build_chosen(work, defaults(work, setup.target), setup, folder / "default")
        subjects: dict[str, tuple[str, Subject]] = {
            "ours": ("ours", DirectorySubject(path=str(folder / "ours"))),
            "default": ("ours", DirectorySubject(path=str(folder / "default"))),
        }
        peer_subject = _peer_subject(source, work, folder)
        if peer_subject is not None:
            subjects |= {p: (p, peer_subject) for p in options.peers}
        with device_lock(DEVICE, on_wait=lambda m: listen(Notice(m))):
            return _contest(work.name, subjects, options.peers, setup)


def _peer_subject(source: str, work: Work, folder: Path) -> Subject | None:
    """What the libraries run: the case by its kind, or the model's own bytes; a graph of ours has no peer."""
    scheme, _, name = source.partition(":")
    if scheme == "suite":
        case = suite_case(name)
        return CaseSubject(kind=case.kind.name, batch=case.batch, args=dict(case.args))
    if work.model is not None and work.model.is_onnx:
        path = folder / "model.onnx"
        path.write_bytes(work.model.data)
        return ModelSubject(path=str(path))
    return None


def _contest(
    name: str, subjects: dict[str, tuple[str, Subject]], peers: Sequence[str], setup: Setup
) -> CaseResult:
    """Starts every contender, plays until a run is quiet enough, and keeps the quietest."""
    threads = setup.target.threads
    cpus = default_cpus()[:threads]
    running: dict[str, Contender] = {}
    try:
        for role, (peer, subject) in subjects.items():
            running[role] = Contender(peer, subject, threads, cpus)
        ready = {role: c for role, c in running.items() if c.prepare()}
        missing = {"ours", "default"} - set(ready)
        if missing:
            raise BenchFailed(f"{name}: our {sorted(missing)[0]} kernels could not be run")
        tries: list[Comparison] = []
        while len(tries) < TRIES:
            rounds = play(ready)
            if not rounds:
                raise BenchFailed(f"{name}: no round was finished by every contender")
            tries.append(compare(rounds, peers))
            if tries[-1].contended_share <= CONTENDED_LIMIT:
                break
        how = {role: c.how for role, c in ready.items() if c.how}
        return CaseResult(name, min(tries, key=lambda c: c.contended_share), how, threads)
    finally:
        for contender in running.values():
            contender.close()
