"""`autosched trial`: one stored trial, and the same again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from autosched.cli import options
from autosched.cli.output import OUT, counted, table, time_text
from autosched.cli.status import DONE, FAILED

if TYPE_CHECKING:
    from autosched.entry.trial import StoredTrial
    from autosched.records.record import Measurement


def trial(
    trial_id: Annotated[str, typer.Argument(metavar="ID", help="As `best` and --json show it.")],
    source: Annotated[bool, typer.Option("--source", help="Print the generated text.")] = False,
    nest: Annotated[bool, typer.Option("--nest", help="Print the loop program.")] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Build, check and time it again on this machine.")
    ] = False,
    db: options.Database = None,
) -> int:
    """Show a trial: derivation, values, workload, compile command and every run."""
    from autosched.db.store import open_store
    from autosched.entry.trial import find_trial, kernel_of, nest_of, replay
    from autosched.records.outcome import Outcome

    with open_store(db, must_exist=True) as store:
        stored = find_trial(store, trial_id)
        if source:
            print(kernel_of(stored).source)
        if nest:
            print(nest_of(stored), end="")
        if run:
            found = replay(store, stored)
            OUT.print(_again(stored, found), markup=False)
            return DONE if found.outcome is Outcome.OK else FAILED
        if source or nest:
            return DONE
    _show(stored)
    return DONE


def _again(stored: StoredTrial, found: Measurement) -> str:
    """The outcome of a replay beside what is stored."""
    own = stored.trial.measurement
    before = time_text(own.timing.median_seconds if own and own.timing else None)
    if found.timing is None:
        return f"{stored.task.name}: {found.outcome}: {found.error}; stored: {before}"
    timing = found.timing
    return (
        f"{stored.task.name}: {found.outcome}, {time_text(timing.median_seconds)} a call (spread "
        f"{time_text(timing.spread_seconds)}, {counted(timing.n_samples, 'sample')}); stored: {before}"
    )


def _show(stored: StoredTrial) -> None:
    one = stored.trial
    lines = {
        "trial": f"{one.id} (round {one.round}, attempt {one.attempt})",
        "job": f"{stored.job.id}: {stored.job.spec.source}, seed {stored.job.spec.seed}",
        "task": f"{stored.task.name} {stored.task.workload_key}",
        "target": f"{stored.target.key} {stored.target.isa}, {stored.target.threads} threads",
        "compile": " ".join(
            (*stored.toolchain.get("command", ()), *stored.toolchain.get("flags", ()))
        ),
        "candidate": one.candidate.key,
        "values": json.dumps(dict(one.candidate.values)),
    }
    for name, text in lines.items():
        OUT.print(f"{name:<10}{text}", markup=False)
    for step in one.candidate.derivation:
        OUT.print(f"{'step':<10}{json.dumps(dict(step))}", markup=False)
    OUT.print(stored.task.workload_text, markup=False)
    rows = []
    for row in stored.measurements:
        timing = row.measurement.timing
        rows.append(
            (
                f"{row.purpose} {row.measurement.outcome}",
                time_text(timing.median_seconds if timing else None),
                time_text(timing.spread_seconds if timing else None),
                str(timing.n_samples) if timing else "-",
                f"{timing.contended_share:.2f}" if timing else "-",
                row.measurement.error,
            )
        )
    OUT.print(table("runs", ("run", "median", "spread", "samples", "contended", "error"), rows))
