"""`autosched tune`: search for fast kernels and keep every result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autosched.cli import options
from autosched.cli.output import ERR, OUT, print_json, ratio_text, share_text, table, time_text
from autosched.cli.progress import ProgressView
from autosched.cli.status import DONE, FAILED, INTERRUPTED
from autosched.tuning.report import Report


def tune(
    source: options.Source,
    trials: options.Trials,
    target: options.Target = "host",
    threads: options.Threads = None,
    db: options.Database = None,
    seed: options.Seed = 0,
    compiler: options.Compiler = None,
    journal: Annotated[
        Path | None, typer.Option("--journal", help="Log what the runner runs to this file.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Tune a model, a graph or cases of the suite.

    The identical command goes on with its unfinished job; any other starts from the history there is.
    """
    from autosched.entry.tune import tune as tune_source
    from autosched.wire.tune import tune_document

    with ProgressView(ERR) as view:
        report = tune_source(
            source,
            trials=trials,
            target=target,
            threads=threads,
            db=db,
            seed=seed,
            compiler=compiler,
            journal=journal,
            listen=view,
        )
    if json:
        print_json(tune_document(report))
    else:
        print_report(report)
    if report.interrupted:
        done = sum(t.trials for t in report.tasks)
        ERR.print(
            f"interrupted: {done} of {trials} trials are done; the same command goes on",
            markup=False,
        )
        return INTERRUPTED
    return FAILED if report.failed_tasks else DONE


def print_report(report: Report) -> None:
    """The table of tasks, and what the whole graph takes."""
    rows = [
        (
            f"{t.name}" + (f" (x{t.weight})" if t.weight > 1 else ""),
            str(t.trials),
            time_text(t.default_seconds),
            time_text(t.best_seconds),
            ratio_text(t.speedup),
            "-" if t.gflops is None else f"{t.gflops:.1f}",
            share_text(t.roofline),
        )
        for t in report.tasks
    ]
    columns = ("task", "trials", "default", "best", "speed-up", "GFLOPS", "roofline")
    OUT.print(table("", columns, rows))
    before, after = report.estimated_default_seconds, report.estimated_graph_seconds
    if before is not None and after is not None and len(report.tasks) > 1:
        OUT.print(
            f"all kernels, each as often as the graph calls it (xN): {time_text(before)} -> {time_text(after)} "
            f"({ratio_text(before / after)})"
        )
    OUT.print(
        "default and best were timed side by side, after the search; roofline: share of what the machine allows"
    )
    spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in report.phase_seconds.items())
    OUT.print(f"{report.wall_seconds:.1f} s: {spent}")
    for name in () if report.interrupted else report.failed_tasks:
        OUT.print(f"no valid kernel: {name}", markup=False)
