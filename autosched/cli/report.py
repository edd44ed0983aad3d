"""What a tuning job has brought, as a person reads it: one path for jobs of this machine and of a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from autosched.cli.output import OUT, print_json, ratio_text, share_text, table, time_text

if TYPE_CHECKING:
    from autosched.wire.tune import TaskDocument, TuneDocument

COLUMNS = ("task", "trials", "default", "best", "speed-up", "GFLOPS", "roofline")


def print_report(document: TuneDocument, *, json: bool) -> None:
    """The table of tasks and what the whole graph takes; or the one object of `--json`."""
    if json:
        print_json(document)
        return
    print_tasks(document.tasks)
    before, after = _default_us(document), document.estimated_graph_us
    if before is not None and after is not None and len(document.tasks) > 1:
        OUT.print(
            f"all kernels, each as often as the graph calls it (xN): {_time(before)} -> {_time(after)} "
            f"({ratio_text(before / after)})"
        )
    OUT.print(
        "default and best were timed side by side, after the search; roofline: share of what the machine allows"
    )
    spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in document.phase_s)
    OUT.print(f"{document.wall_s:.1f} s: {spent}")
    for name in () if document.interrupted else failed_tasks(document):
        OUT.print(f"no valid kernel: {name}", markup=False)


def print_tasks(tasks: Sequence[TaskDocument]) -> None:
    OUT.print(table("", COLUMNS, [_row(t) for t in tasks]))


def failed_tasks(document: TuneDocument) -> tuple[str, ...]:
    """Tasks without a valid, confirmed kernel."""
    return tuple(t.name for t in document.tasks if t.best_us is None)


def _row(task: TaskDocument) -> tuple[str, ...]:
    ratio = task.default_us / task.best_us if task.default_us and task.best_us else None
    return (
        f"{task.name}" + (f" (x{task.weight})" if task.weight > 1 else ""),
        str(task.trials),
        _time(task.default_us),
        _time(task.best_us),
        ratio_text(ratio),
        "-" if task.gflops is None else f"{task.gflops:.1f}",
        share_text(task.roofline),
    )


def _default_us(document: TuneDocument) -> float | None:
    """All defaults, each as often as it is called; None while one is missing."""
    total = 0.0
    for task in document.tasks:
        if task.default_us is None:
            return None
        total += task.weight * task.default_us
    return total


def _time(us: float | None) -> str:
    return time_text(None if us is None else us * 1e-6)
