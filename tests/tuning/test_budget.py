"""The division of a budget goes where the end-to-end time falls most."""

from __future__ import annotations

from autosched.tuning.budget import BudgetPolicy, Progress, next_task


def task(*best: float, weight: int = 1, trials: int = 16, exhausted: bool = False) -> Progress:
    return Progress(weight, trials, 1e6, best, family=str(id(best)), exhausted=exhausted)


def test_untouched_tasks_come_first_the_heaviest_of_them_before_the_others() -> None:
    tasks = [task(1e-3, trials=0), task(1e-3, weight=3, trials=0), task(9.0)]
    assert next_task(tasks) == 1


def test_weight_counts_as_time_does() -> None:
    assert next_task([task(2e-3, 2e-3), task(1e-3, 1e-3, weight=3)]) == 1


def test_a_falling_task_beats_a_flat_one_of_equal_time() -> None:
    assert next_task([task(1e-3, 1e-3, 1e-3), task(3e-3, 2e-3, 1e-3)]) == 1


def test_trials_spent_lower_the_hope() -> None:
    assert next_task([task(1e-3, 1e-3, trials=100), task(1e-3, 1e-3, trials=10)]) == 1


def test_a_task_far_behind_its_family_is_worth_more() -> None:
    alike = [Progress(1, 50, 1e9, (1e-2, 1e-2), "conv"), Progress(1, 50, 1e9, (1e-1, 1e-1), "conv")]
    alone = Progress(1, 50, 1e9, (1.5e-1, 1.5e-1), "other")
    assert next_task([*alike, alone]) == 1


def test_a_task_without_a_valid_kernel_goes_first_and_cannot_stall_the_rest() -> None:
    assert next_task([task(1.0), Progress(1, 8, 1e6, ())]) == 1
    spent = BudgetPolicy().rescue_trials
    assert next_task([task(1.0), Progress(1, spent, 1e6, ())]) == 0


def test_exhausted_tasks_are_left_alone() -> None:
    assert next_task([task(1.0, exhausted=True), task(1e-6)]) == 1
    assert next_task([task(1.0, exhausted=True)]) is None
