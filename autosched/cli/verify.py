"""`autosched verify`: compare a model's values with an independent meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autosched.cli import options
from autosched.cli.output import OUT, counted
from autosched.cli.status import DONE, FAILED


def verify(
    source: options.Source,
    data: Annotated[
        Path | None, typer.Option("--data", help="A directory of input_N.pb and output_N.pb.")
    ] = None,
    random_weights: Annotated[
        int | None,
        typer.Option(
            "--random-weights",
            metavar="SEED",
            help="Random inputs, and random weights where a file has constants only; needed where no data is shipped.",
        ),
    ] = None,
    target: options.Target = "host",
    threads: options.Threads = None,
    db: options.Database = None,
) -> int:
    """Run a model with its kernels and compare every value; status 1 if any differs."""
    from autosched.entry.verify import verify as run

    found = run(
        source,
        data=data,
        random_weights=random_weights,
        target=target,
        threads=threads,
        db=db,
    )
    kernels = ", ".join(f"{n} {match}" for match, n in found.matches.items())
    report = found.report
    worst = report.worst
    for failure in report.failures:
        OUT.print(
            f"WRONG {failure.kind} {failure.tensor}: error {failure.error:.3g}, "
            f"limit {failure.limit:.3g} {failure.workload_key}",
            markup=False,
        )
    OUT.print(
        f"{'verified' if report.passed else 'FAILED'}: {counted(len(report.comparisons), 'comparison')}, "
        f"{len(report.failures)} wrong; worst {worst.kind} {worst.tensor}: "
        f"error {worst.error:.3g}, limit {worst.limit:.3g}; kernels: {kernels}",
        markup=False,
    )
    return DONE if report.passed else FAILED
