"""A job of a service seen from afar: its events as those of a job of this machine, its end as the same document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from autosched.client import Client, ServiceAway, ServiceError
from autosched.client.events import QUIET, Event
from autosched.records.outcome import Outcome
from autosched.tuning.events import (
    JobEnded,
    JobStanding,
    JobStarted,
    Listener,
    Notice,
    TaskConfirmed,
)
from autosched.tuning.phases import PHASES
from autosched.wire.event import RESET
from autosched.wire.job import JobDocument
from autosched.wire.number import seconds
from autosched.wire.tune import PhaseDocument, TuneDocument

MEASURING_DEFAULTS = "measuring default schedules"
QUEUED = "in the queue"


def watch(
    client: Client, job: JobDocument, listen: Listener, *, after: int = 0
) -> tuple[JobDocument, TuneDocument]:
    """Tells `listen` of everything until the job has ended, and answers how it did. ServiceAway: the service stayed
    away; the job goes on without us."""
    view = _View(job, listen)
    for event in client.events(job.id, after, tell_quiet=True):
        if event.type == QUIET:
            view.tell_pending(_pending_reason(client, job.id))
        if event.type == "progress" and not view.has_progress and not job.history_used:
            view.tell_history(client.job(job.id).history_used)
        view.take(event)
    ended = client.job(job.id)
    return ended, tune_document_of(ended, view.phases)


def _pending_reason(client: Client, job_id: str) -> str | None:
    """None, too, while the service is away: whoever reads the events says so."""
    try:
        return client.job(job_id).pending_reason
    except (ServiceAway, ServiceError):
        return None


class _View:
    """Turns what the service says into what a listener of the tuning loop hears."""

    def __init__(self, job: JobDocument, listen: Listener) -> None:
        self._job = job
        self._listen = listen
        self.has_progress = False
        self.phases: Counter[str] = Counter()
        names = tuple(t.name for t in job.tasks)
        listen(JobStarted(job.id, names, job.budget.trials, job.trials, job.history_used))
        self._pending: str | None = None
        if job.state == "queued":
            self._stand(job.trials, phase=QUEUED)
        self.tell_pending(job.pending_reason)

    def take(self, event: Event) -> None:
        """Unknown types are of later versions and tell us nothing."""
        telling = {
            "job": self._state,
            "progress": self._progress,
            "best": self._best,
            "end": self._end,
            RESET: self._reset,
        }.get(event.type)
        if telling is not None:
            telling(event.data)

    def tell_history(self, records: int) -> None:
        """What a job starts from is known once it runs."""
        if records:
            self._listen(Notice(f"the search starts from {records} earlier records"))

    def tell_pending(self, why: str | None) -> None:
        """Why the job waits, where that is news."""
        if why and why != self._pending:
            self._listen(Notice(f"waiting: {why}"))
        self._pending = why

    def _state(self, data: Mapping[str, Any]) -> None:
        if data.get("message"):
            self._listen(Notice(str(data["message"])))
        with suppress(ValueError):
            self.phases.update(dict(PhaseDocument.model_validate(data.get("phase_s"))))
        phases = {"queued": QUEUED, "running": MEASURING_DEFAULTS}
        phase = phases.get(str(data.get("state")))
        if phase is not None and not self.has_progress:
            self._stand(self._job.trials, phase=phase)

    def _progress(self, data: Mapping[str, Any]) -> None:
        done = int(data.get("trials", 0))
        self.has_progress = True
        self._stand(
            done,
            trials=int(data.get("of", self._job.budget.trials)),
            outcomes=_outcomes(data.get("outcomes") or {}),
            task=str(data.get("task") or ""),
            best_seconds=_seconds(data.get("task_best_us")),
            phase="" if done else MEASURING_DEFAULTS,
        )

    def _stand(self, done: int, *, trials: int | None = None, **what: Any) -> None:
        self._listen(
            JobStanding(self._job.budget.trials if trials is None else trials, done, **what)
        )

    def _best(self, data: Mapping[str, Any]) -> None:
        default, best = _seconds(data.get("default_us")), _seconds(data.get("best_us"))
        if default is not None and best is not None:
            task, trial = str(data.get("task", "")), str(data.get("trial", ""))
            self._listen(TaskConfirmed(task, trial, default, best))

    def _end(self, data: Mapping[str, Any]) -> None:
        if data.get("error"):
            self._listen(Notice(str(data["error"])))
        self._listen(
            JobEnded(self._job.id, str(data.get("state", "")), str(data.get("end_reason") or ""))
        )

    def _reset(self, data: Mapping[str, Any]) -> None:
        self._listen(Notice("earlier events of this job are no longer kept"))


def _outcomes(counted: Mapping[str, Any]) -> dict[Outcome, int]:
    """Those that this version knows."""
    known = {o.value: o for o in Outcome}
    return {known[name]: int(n) for name, n in counted.items() if name in known}


def _seconds(us: Any) -> float | None:
    return seconds(us) if isinstance(us, (int, float)) else None


def tune_document_of(job: JobDocument, phases: Mapping[str, float]) -> TuneDocument:
    """A job of the service as `tune --json` shows one, from what its processes said of their time; what none of them
    had, between them or waiting for a device, is `other`. The time in the queue is not counted."""
    unsaid = _wall_seconds(job) - sum(phases.values())
    spent = {p: phases.get(p, 0.0) for p in PHASES}
    spent["other"] += max(unsaid, 0.0)
    best = [t.best_us for t in job.tasks]
    known = [us * t.weight for us, t in zip(best, job.tasks, strict=True) if us is not None]
    return TuneDocument(
        job=job.id,
        target=job.target_key,
        toolchain=job.toolchain_key,
        threads=job.threads,
        seed=job.seed,
        history_used=job.history_used,
        tasks=job.tasks,
        wall_s=sum(spent.values()),
        phase_s=PhaseDocument.model_validate(spent),
        estimated_graph_us=sum(known) if len(known) == len(best) else None,
        interrupted=job.state == "cancelled",
    )


def _wall_seconds(job: JobDocument) -> float:
    if job.started_at is None or job.ended_at is None:
        return 0.0
    return max((job.ended_at - job.started_at).total_seconds(), 0.0)
