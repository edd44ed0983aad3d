"""`autosched trial`: one stored trial, and the same again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autosched.cli import options
from autosched.cli.connection import connect
from autosched.cli.output import OUT, counted, table, time_text
from autosched.cli.status import DONE, FAILED
from autosched.errors import InvalidInput
from autosched.records.record import split_trial_id

if TYPE_CHECKING:
    from autosched.entry.trial import StoredTrial
    from autosched.records.record import Measurement


def trial(
    context: typer.Context,
    trial_id: Annotated[str, typer.Argument(metavar="ID", help="As `best` and --json show it.")],
    source: Annotated[bool, typer.Option("--source", help="Print the generated text.")] = False,
    nest: Annotated[bool, typer.Option("--nest", help="Print the loop program.")] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Build, check and time it again on this machine.")
    ] = False,
    db: options.Database = None,
    server: options.Server = None,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
) -> int:
    """Show a trial: derivation, values, workload, compile command and every run.

    With --server the trial is the service's; whatever is generated, built or run is so on this machine.
    """
    from autosched.entry.trial import find_trial, keep_replay

    if split_trial_id(trial_id) is None:
        raise InvalidInput(
            f"trial {trial_id!r}: a trial is named JOB.TASK.N, as `best` and `jobs show --json` print it"
        )
    views = Views(source, nest, run)
    if server is None:
        from autosched.db.store import open_store

        with open_store(db, must_exist=True) as store:
            stored = find_trial(store, trial_id)
            return _look(stored, views, lambda found: keep_replay(store, stored, found))
    from autosched.entry.served_trial import served_trial

    options.refuse(context, "db", because="and --server exclude each other")
    with connect(server, token, allow_plain_token) as client:
        stored = served_trial(client, trial_id)
    return _look(stored, views, lambda found: None)


@dataclass(frozen=True)
class Views:
    """What is wanted of a trial; all of it in words if nothing is named."""

    source: bool
    nest: bool
    run: bool


def _look(stored: StoredTrial, views: Views, keep: Callable[[Measurement], None]) -> int:
    from autosched.entry.trial import kernel_of, nest_of, replay
    from autosched.records.outcome import Outcome

    if views.source:
        print(kernel_of(stored).source)
    if views.nest:
        print(nest_of(stored), end="")
    if views.run:
        found = replay(stored)
        keep(found)
        OUT.print(_again(stored, found), markup=False)
        return DONE if found.outcome is Outcome.OK else FAILED
    if not (views.source or views.nest):
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


def _compile_line(toolchain: Mapping[str, Any]) -> str:
    """The command; of a service, which does not say where its programs lie, what they are called."""
    known = toolchain.get("command") or (toolchain.get("name", ""), toolchain.get("version", ""))
    return " ".join((*known, *toolchain.get("flags", ())))


def _show(stored: StoredTrial) -> None:
    one = stored.trial
    lines = {
        "trial": f"{one.id} (round {one.round}, attempt {one.attempt})",
        "job": f"{stored.job_id}: {stored.source}, seed {stored.seed}",
        "task": f"{stored.task.name} {stored.task.workload_key}",
        "target": f"{stored.target.key} {stored.target.isa}, {stored.target.threads} threads",
        "compile": _compile_line(stored.toolchain),
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
                row.measurement.device or "-",
                row.measurement.error,
            )
        )
    columns = ("run", "median", "spread", "samples", "contended", "device", "error")
    OUT.print(table("runs", columns, rows))
