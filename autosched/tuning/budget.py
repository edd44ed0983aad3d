"""Which task gets the next round: the one whose end-to-end time is expected to fall most for it.

The estimate is Ansor's gradient (OSDI 2020, section 6). For a task of weight w that spent t trials and stands at g
seconds, with slope the fall of g a trial over its last rounds,

    gain = w * ( alpha * slope  +  (1 - alpha) * max( g / t,  g - beta * F / V ) )

where g / t is what one trial more may bring, and g - beta * F / V the distance to beta times the time that F
operations take at the speed V of the best similar task. Everything is a function of closed rounds, so that a job that
is killed and goes on chooses as it would have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """What closed rounds say of one task.

    `best_seconds`: the fastest after each closed round, round 0 first, the default's; empty if nothing valid ran yet.
    `trials`: budget taken so far, open rounds included. `family`: tasks of one family are similar computations.
    `exhausted`: its space is measured to the end.
    """

    weight: int
    trials: int
    operations: float
    best_seconds: tuple[float, ...]
    family: str = ""
    exhausted: bool = False


@dataclass(frozen=True)
class BudgetPolicy:
    """Constants of the division. `warm_up_trials`: what every task gets before gradients count. A task without a
    valid kernel goes first until it has spent `rescue_trials`, and last from then on."""

    alpha: float = 0.2
    beta: float = 2.0
    window: int = 3
    warm_up_trials: int = 1
    rescue_trials: int = 32


def next_task(tasks: Sequence[Progress], policy: BudgetPolicy = BudgetPolicy()) -> int | None:
    """Position of the task to work on; None when every task is exhausted. Ties go to the first."""
    open_tasks = [i for i, t in enumerate(tasks) if not t.exhausted]
    if not open_tasks:
        return None
    cold = [i for i in open_tasks if tasks[i].trials < policy.warm_up_trials]
    if cold:
        return max(cold, key=lambda i: (_expected_share(tasks[i]), -i))
    throughputs = best_throughputs(tasks)
    return max(open_tasks, key=lambda i: (gain(tasks[i], throughputs, policy), -i))


def _expected_share(task: Progress) -> float:
    """Seconds of the whole graph that a task takes; one without a valid kernel comes first."""
    return task.weight * task.best_seconds[-1] if task.best_seconds else math.inf


def best_throughputs(tasks: Sequence[Progress]) -> dict[str, float]:
    """Operations a second of the best task of each family."""
    found: dict[str, float] = {}
    for task in tasks:
        if task.best_seconds:
            reached = task.operations / task.best_seconds[-1]
            found[task.family] = max(found.get(task.family, 0.0), reached)
    return found


def gain(task: Progress, throughputs: dict[str, float], policy: BudgetPolicy) -> float:
    """Expected seconds of the whole graph gained by another trial."""
    if not task.best_seconds:
        return math.inf if task.trials < policy.rescue_trials else 0.0
    now = task.best_seconds[-1]
    trials = max(1, task.trials)
    rounds = len(task.best_seconds) - 1
    slope = 0.0
    if rounds > 0:
        back = min(policy.window, rounds)
        slope = (task.best_seconds[-1 - back] - now) / (back * trials / rounds)
    peer_seconds = task.operations / max(1.0, throughputs[task.family])
    hope = max(now / trials, now - policy.beta * peer_seconds)
    return task.weight * (policy.alpha * slope + (1 - policy.alpha) * hope)
