"""What happens in a job, written as the events that people follow."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autosched.jobs.record import EventType
from autosched.records.outcome import Outcome
from autosched.tuning.events import Event, Notice, TaskConfirmed, TrialFinished
from autosched.tuning.phases import Phase
from autosched.wire.event import BestData, JobData, ProgressData, Stamped, TaskData
from autosched.wire.number import microseconds
from autosched.wire.tune import PhaseDocument, TaskDocument

PROGRESS_SECONDS = 0.5
"""Between two events of progress at least."""

Append = Callable[[EventType, Mapping[str, Any]], None]


Standing = Callable[[str], TaskDocument]
"""How the task of this name stands in the database."""


class Announcer:
    """A listener (see `tuning.events`) of a job of `trials`; `done` is what earlier processes of the job closed."""

    def __init__(
        self,
        append: Append,
        standing: Standing,
        trials: int,
        done: Sequence[Outcome],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._append = append
        self._standing = standing
        self._trials = trials
        self._outcomes = Counter(done)
        self._now = now
        self._last = -PROGRESS_SECONDS
        self._unsaid: ProgressData | None = None

    def __call__(self, event: Event) -> None:
        match event:
            case TrialFinished():
                self._finished(event)
            case TaskConfirmed():
                self.flush()
                self._confirmed(event)
            case Notice():
                self._say("job", JobData(state="running", message=event.message))

    def flush(self) -> None:
        """Says the last progress, if it has not been said."""
        if self._unsaid is not None:
            self._say("progress", self._unsaid)
            self._unsaid, self._last = None, self._now()

    def spent(self, phase_seconds: Mapping[Phase, float]) -> None:
        """Says where the time of this process went."""
        phases = PhaseDocument.model_validate(phase_seconds)
        self._say("job", JobData(state="running", phase_s=phases))

    def _finished(self, event: TrialFinished) -> None:
        if event.number > 0:
            self._outcomes[event.outcome] += 1
        self._unsaid = ProgressData(
            trials=sum(n for o, n in self._outcomes.items() if o is not Outcome.PRUNED),
            of=self._trials,
            outcomes={o.value: n for o, n in self._outcomes.items()},
            task=event.task,
            task_best_us=microseconds(event.best_seconds),
            error=event.error[:500],
        )
        if self._now() - self._last >= PROGRESS_SECONDS:
            self.flush()

    def _confirmed(self, event: TaskConfirmed) -> None:
        task = self._standing(event.task)
        best = BestData(
            task=event.task,
            workload_key=task.workload_key,
            trial=event.winner,
            default_us=microseconds(event.default_seconds),
            best_us=microseconds(event.best_seconds),
        )
        self._say("best", best)
        self._say("task", TaskData(**task.model_dump()))

    def _say(self, kind: EventType, data: Stamped) -> None:
        self._append(kind, data.model_dump(mode="json", exclude={"job", "at"}))
