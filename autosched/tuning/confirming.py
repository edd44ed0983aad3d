"""Side-by-side runs: the standing best, trial 0 and the fastest few, interleaved in one fresh process.

A search keeps the luckiest of many noisy samples. Here the contenders meet under equal conditions, and only what wins
here is ever published.
"""

from __future__ import annotations

from dataclasses import dataclass

from autosched.measure.protocol import Artefact, Builder, Runner, TimingPolicy
from autosched.records.record import Candidate, Timing, trial_id
from autosched.records.store import BestRecord, Confirmation, JobSpec, TuningStore
from autosched.tuning import progress
from autosched.tuning.phases import PhaseClock
from autosched.tuning.task import Confirmed, Task
from autosched.tuning.winner import winner_of


@dataclass(frozen=True)
class Contender:
    """A trial, of this task or (the standing best) of an earlier one."""

    trial_id: str
    candidate: Candidate


@dataclass(eq=False)
class Confirming:
    """What a confirmation needs; `n_contenders` are taken besides trial 0 and the standing best."""

    builder: Builder
    runner: Runner
    store: TuningStore
    clock: PhaseClock
    spec: JobSpec
    space_version: str
    n_contenders: int = 3

    def run(self, task: Task) -> Confirmed | None:
        """Times the contenders, stores the result, and returns it; None if there is no contender or all failed."""
        built = self._built(task)
        if not built:
            return None
        with self.clock.phase("run"):
            timings = self._timings(task, built)
        if not timings:
            return None
        default = trial_id(task.id, 0)
        winner = winner_of(timings, default)
        digest = built[winner].kernel.digest
        self.store.confirm(Confirmation(task.id, timings, winner, digest, self.space_version))
        task.confirmed = Confirmed(winner, timings.get(default), timings[winner])
        task.confirmed_at = task.spent
        return task.confirmed

    def standing(self, task: Task) -> BestRecord | None:
        """The stored winner of the task's workload, of whichever job."""
        key = task.codebook.workload.key
        found = self.store.best(key, self.spec.target_key, self.spec.toolchain_key)
        return found[0] if found else None

    def _contenders(self, task: Task) -> list[Contender]:
        """In order of precedence: standing best, trial 0, then by time; each code once."""
        found: list[Contender] = []
        standing = self.standing(task)
        if standing is not None and standing.candidate in task.codebook:
            found.append(Contender(standing.trial_id, standing.candidate))
        default = task.default
        if default is not None and progress.may_contend(default):
            found.append(Contender(default.id, default.candidate))
        fastest = progress.contenders(task.trials.values(), self.n_contenders)
        found += [Contender(t.id, t.candidate) for t in fastest]
        return _each_once(found, trial_id(task.id, 0))

    def _built(self, task: Task) -> dict[str, Artefact]:
        """The contenders' artefacts in order of precedence; what a round has built is not built again."""
        contenders = self._contenders(task)
        known = dict(task.artefacts)
        missing = [c.candidate for c in contenders if c.candidate.key not in known]
        with self.clock.phase("build"):
            builds = self.builder.build(task.codebook.kernels(missing))
        for candidate, build in zip(missing, builds, strict=True):
            if build.artefact is not None:
                known[candidate.key] = build.artefact
        return {c.trial_id: known[c.candidate.key] for c in contenders if c.candidate.key in known}

    def _timings(self, task: Task, built: dict[str, Artefact]) -> dict[str, Timing]:
        policy = TimingPolicy(threads=self.spec.threads)
        results = self.runner.side_by_side(list(built.values()), task.check.sets[-1], policy)
        return {
            key: timing for key, timing in zip(built, results, strict=True) if timing is not None
        }


def _each_once(contenders: list[Contender], default: str) -> list[Contender]:
    """The same code measured under two trials contends once; trial 0 stays, for a confirmation must name it."""
    kept: dict[str, Contender] = {}
    for contender in contenders:
        known = kept.get(contender.candidate.key)
        if known is None or contender.trial_id == default:
            kept[contender.candidate.key] = contender
    return list(kept.values())
