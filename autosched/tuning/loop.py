"""The loop of one job.

    restore        what an earlier run of the same command closed; its open trials are sent again
    defaults       trial 0 of every task, confirmed at once
    rounds         which task, propose, commit, build, measure, close; side-by-side runs every so many trials
    confirm        the contenders of every task that has changed since its last side-by-side run

Everything it decides is a function of the seed and of closed rounds, and everything it learned is in the store before
it goes on, so that a job killed anywhere goes on exactly as it would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from autosched.records.record import Trial
from autosched.records.store import TuningStore
from autosched.search.proposal import Proposal
from autosched.tuning import progress
from autosched.tuning.budget import BudgetPolicy, next_task
from autosched.tuning.confirming import Confirming
from autosched.tuning.events import Listener, Notice, RoundProposed, TaskConfirmed
from autosched.tuning.measuring import Measuring
from autosched.tuning.phases import PhaseClock
from autosched.tuning.task import Task
from autosched.tuning.turns import Alone, Turns

LoopEnd = Literal["trials", "seconds", "exhausted"]
"""What ended a search: its budget of trials or of time, or that nothing is left to measure."""


@dataclass(frozen=True)
class LoopOptions:
    """`seconds`: the most time on a device. `confirm_every`: trials of a task between side-by-side runs;
    `round_trials`: at most so many a round. `relative`: tasks are cases of their own, not parts of one graph, so a
    percent counts the same in each. `is_inherited`: open trials may have been under way when their holder died, and
    count another attempt."""

    trials: int
    seconds: float | None = None
    relative: bool = False
    is_inherited: bool = True
    confirm_every: int = 64
    round_trials: int = 16
    space_version: str = ""


@dataclass(eq=False)
class Loop:
    """Runs the tasks of a job to the end of its budget."""

    tasks: Sequence[Task]
    options: LoopOptions
    store: TuningStore
    measuring: Measuring
    confirming: Confirming
    clock: PhaseClock
    listen: Listener
    budget: BudgetPolicy = field(default_factory=BudgetPolicy)
    turns: Turns = field(default_factory=Alone)

    def run(self) -> LoopEnd:
        """To the end of the budget; raises Stopped where the turns say so."""
        for task in self.tasks:
            with self.turns.step():
                self.restore(task)
        for task in self.tasks:
            with self.turns.step():
                self._begin(task)
        end = self._search()
        for task in self.tasks:
            if task.spent > task.confirmed_at:
                with self.turns.step():
                    self._confirm(task)
        return end

    def _begin(self, task: Task) -> None:
        """The default, confirmed at once."""
        if task.default is None:
            with self.clock.phase("search"):
                default = task.policy.default()
            self._round(task, [default], 0)
        if task.standing is None:
            self._confirm(task)

    def _search(self) -> LoopEnd:
        while self._remaining > 0:
            if self.options.seconds is not None and self.turns.seconds() >= self.options.seconds:
                return "seconds"
            with self.turns.step():
                if not self._step():
                    return "exhausted"
        return "trials"

    @property
    def _remaining(self) -> int:
        return self.options.trials - sum(t.spent for t in self.tasks)

    @property
    def _last_round(self) -> int:
        return max((t.round for task in self.tasks for t in task.trials.values()), default=0)

    def restore(self, task: Task) -> None:
        """Reads what is stored of the task, finishes its open trials, and tells the policy its closed rounds."""
        for trial in self.store.trials(task.id):
            task.record(trial)
        task.standing = self.confirming.standing(task) if task.trials else None
        if task.open_trials:
            if self.options.is_inherited:
                self.store.resend(task.id)
                for trial in self.store.trials(task.id):
                    task.record(trial)
            self._measure(task, task.open_trials)
        for closed in progress.rounds(list(task.trials.values())):
            self._observe(task, closed)

    def _step(self) -> bool:
        """One round of the task that promises most; False when no space has anything left."""
        chosen = next_task(
            [t.progress(relative=self.options.relative) for t in self.tasks], self.budget
        )
        if chosen is None:
            self.listen(Notice("every candidate of every task has been measured"))
            return False
        task = self.tasks[chosen]
        with self.clock.phase("search"):
            proposals = task.policy.propose(self._round_size())
        while task.policy.notes:
            self.listen(Notice(f"{task.subject.name}: {task.policy.notes.pop(0)}"))
        if not proposals:
            task.exhausted = True
            return True
        self._round(task, proposals, self._last_round + 1)
        if task.spent - max(0, task.confirmed_at) >= self.options.confirm_every:
            self._confirm(task)
        return True

    def _round_size(self) -> int:
        """A quarter of what each task may expect, so that a search learns before its budget is gone; an eighth where
        that is more than a round holds, since each round is a search and a training of its own."""
        share = self.options.trials // max(1, len(self.tasks))
        most = max(self.options.round_trials, min(2 * self.options.round_trials, share // 8))
        size = max(4, min(most, -(-share // 4)))
        return min(self._remaining, size)

    def _round(self, task: Task, proposals: Sequence[Proposal], number: int) -> None:
        first = max(task.trials, default=-1) + 1
        trials = [
            Trial(
                task_id=task.id,
                number=first + i,
                round=number,
                candidate=p.candidate,
                features=p.features,
                features_schema=p.features_schema,
                space_version=self.options.space_version,
            )
            for i, p in enumerate(proposals)
        ]
        committed = self.store.propose(task.id, number, trials)
        for trial in committed:
            task.record(trial)
        self.listen(RoundProposed(task.subject.name, number, len(committed)))
        for trial in committed:
            if not trial.is_open:
                self.measuring.report(task, trial)
        self._measure(task, [t for t in committed if t.is_open])
        self._observe(task, [task.trials[t.number] for t in committed])

    def _measure(self, task: Task, trials: Sequence[Trial]) -> None:
        if trials:
            with self.turns.device():
                self.measuring.run(task, trials, self.turns)

    def _observe(self, task: Task, trials: Sequence[Trial]) -> None:
        with self.clock.phase("model"):
            task.policy.observe(trials)

    def _confirm(self, task: Task) -> None:
        with self.turns.device():
            confirmed = self.confirming.run(task)
        if confirmed is None:
            self.listen(Notice(f"{task.subject.name}: no valid kernel to time side by side"))
            return
        default = confirmed.default or confirmed.best
        self.listen(
            TaskConfirmed(
                task.subject.name,
                confirmed.winner,
                default.median_seconds,
                confirmed.best.median_seconds,
            )
        )
