"""`autosched tune`: search for fast kernels and keep every result, here or at a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autosched.cli import options
from autosched.cli.connection import connect
from autosched.cli.output import ERR, OUT, print_json
from autosched.cli.progress import ProgressView
from autosched.cli.report import failed_tasks, print_report
from autosched.cli.status import DONE, FAILED, INTERRUPTED

if TYPE_CHECKING:
    from autosched.client import Client


def tune(
    context: typer.Context,
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
    server: options.Server = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="With --server: bound on the device time.")
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="With --server: print the job's id and end.")
    ] = False,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
) -> int:
    """Tune a model, a graph or cases of the suite.

    The identical command goes on with its unfinished job; any other starts from the history there is. With --server the
    service tunes, for its only target unless one is named.
    """
    if server is None:
        options.refuse(context, "seconds", "detach", because="needs --server")
        here = {"target": target, "threads": threads, "db": db, "seed": seed}
        return _tune_here(source, trials, json, compiler=compiler, journal=journal, **here)
    options.refuse(context, "db", "compiler", "journal", because="is the server's to choose")
    with connect(server, token, allow_plain_token) as client:
        job = client.submit(
            source,
            trials=trials,
            seconds=seconds,
            target=_target(client, context, target, threads),
            threads=threads,
            seed=seed,
        )
        if not detach:
            from autosched.cli.following import follow_job

            return follow_job(client, job, json=json)
    if json:
        print_json(job)
    else:
        OUT.print(job.id, markup=False)
    return DONE


def _target(client: Client, context: typer.Context, name: str, threads: int | None) -> str | None:
    """What the service calls the target: nothing where none was asked for."""
    from autosched.entry.served_target import is_ours, submitted_target

    if not options.written(context, "target"):
        return None
    return submitted_target(client.targets().items, name, threads) if is_ours(name) else name


def _tune_here(source: str, trials: int, json: bool, **how: Any) -> int:
    from autosched.entry.tune import tune as tune_source
    from autosched.wire.tune import tune_document

    with ProgressView(ERR) as view:
        report = tune_source(source, trials=trials, listen=view, **how)
    document = tune_document(report)
    print_report(document, json=json)
    if report.interrupted:
        done = sum(t.trials for t in report.tasks)
        ERR.print(
            f"interrupted: {done} of {trials} trials are done; the same command goes on",
            markup=False,
        )
        return INTERRUPTED
    return FAILED if failed_tasks(document) else DONE
