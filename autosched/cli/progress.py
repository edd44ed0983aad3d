"""What a running job looks like: one live line on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from autosched.cli.output import counted, time_text
from autosched.plain import shown
from autosched.records.outcome import Outcome
from autosched.tuning.events import (
    Event,
    JobEnded,
    JobStanding,
    JobStarted,
    Notice,
    TaskConfirmed,
    TrialFinished,
)

PLAIN_SECONDS = 5.0


class ProgressView:
    """A listener that shows the fastest run so far, what was confirmed, trials, rate, time left and failures by kind.

    A run of the search and one side by side differ by what disturbs the machine, so each is shown under its own name:
    the first only falls, the second is what will be answered.

    with ProgressView(console) as view:
        tune(..., listen=view)
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=4, transient=True)
        self._started = time.monotonic()
        self._trials = 0
        self._done = 0
        self._before = 0
        self._fastest: dict[str, float] = {}
        self._confirmed: dict[str, float] = {}
        self._now = ""
        self._failures: Counter[Outcome] = Counter()
        self._shown = 0.0
        self._tasks = 0
        self._defaults = 0
        self._said = ""

    def __enter__(self) -> ProgressView:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def __call__(self, event: Event) -> None:
        match event:
            case JobStarted():
                self._start(event)
            case TrialFinished():
                self._count(event)
            case TaskConfirmed():
                self._confirmed[event.task] = event.best_seconds
                self._now = event.task
            case JobStanding():
                self._stand(event)
            case Notice(message=message):
                self._console.print(message, markup=False)
            case JobEnded():
                self._show(force=True)
                return
        self._show(force=False)

    def _start(self, event: JobStarted) -> None:
        self._trials, self._done, self._before = event.trials, event.done, event.done
        resumed = f", {event.done} done before" if event.done else ""
        history = f", {event.history_used} earlier records" if event.history_used else ""
        self._tasks, self._defaults = len(event.tasks), 0
        self._started = time.monotonic()
        tasks = counted(self._tasks, "task")
        line = f"job {event.job_id}: {tasks}, {event.trials} trials{resumed}{history}"
        self._console.print(line, markup=False)

    def _count(self, event: TrialFinished) -> None:
        self._now = event.task
        if event.number == 0:
            self._defaults += 1
            self._started = time.monotonic()
        if event.number > 0 and event.outcome is not Outcome.PRUNED:
            self._done += 1
        if event.outcome not in (Outcome.OK, Outcome.PRUNED):
            self._failures[event.outcome] += 1
        self._run(event.task, event.best_seconds)

    def _stand(self, event: JobStanding) -> None:
        self._trials, self._done, self._said = event.trials, event.done, event.phase
        if self._done <= self._before:
            self._started = time.monotonic()
        fine = (Outcome.OK, Outcome.PRUNED)
        self._failures = Counter({o: n for o, n in event.outcomes.items() if o not in fine})
        if event.task:
            self._now = event.task
            self._run(event.task, event.best_seconds)

    def _run(self, task: str, seconds: float | None) -> None:
        if seconds is not None:
            self._fastest[task] = min(seconds, self._fastest.get(task, seconds))

    def _show(self, *, force: bool) -> None:
        if self._console.is_terminal:
            self._live.update(Text(shown(self.line())))
        elif force or time.monotonic() - self._shown >= PLAIN_SECONDS:
            self._shown = time.monotonic()
            self._console.print(self.line(), markup=False)

    def line(self) -> str:
        """The state in one line."""
        parts = [
            f"{self._done}/{self._trials} trials",
            self._phase(),
            f"{self._now}: {self._times(self._now)}" if self._now else "",
            ", ".join(f"{n} {outcome}" for outcome, n in self._failures.most_common()),
        ]
        return "  ".join(p for p in parts if p)

    def _times(self, task: str) -> str:
        fastest = f"fastest run so far {time_text(self._fastest.get(task))}"
        if task not in self._confirmed:
            return fastest
        return f"{fastest}, confirmed {time_text(self._confirmed[task])}"

    def _phase(self) -> str:
        """What is going on: defaults, which are beyond the budget; the search with its pace; the last comparisons."""
        if self._said or not self._tasks:
            return self._said or "waiting"
        here = self._done - self._before
        if not here and self._defaults < self._tasks and self._before == 0:
            return f"measuring default schedules, {self._defaults}/{self._tasks}"
        if self._done >= self._trials:
            return "timing the fastest side by side"
        elapsed = time.monotonic() - self._started
        if not here or elapsed <= 0:
            return ""
        rate = here / elapsed
        return f"{rate:.1f} trials/s, {(self._trials - self._done) / rate:.0f} s left"
