"""`autosched tune`: search for fast kernels and keep every result, here or at a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autosched.cli import options
from autosched.cli.connection import connect
from autosched.cli.output import ERR, OUT, print_json
from autosched.cli.progress import ProgressView
from autosched.cli.report import failed_tasks, print_report
from autosched.cli.status import DONE, FAILED, INTERRUPTED
from autosched.errors import InvalidInput

if TYPE_CHECKING:
    from autosched.client import Client

Seconds = Annotated[
    float | None, typer.Option("--seconds", help="With --server: bound on the device time.")
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="NAME:VALUE", help="With --server: kept with the job; repeatable."
    ),
]
Priority = Annotated[
    int, typer.Option("--priority", help="With --server: higher comes first, -100 to 100.")
]
QueueSeconds = Annotated[
    float | None,
    typer.Option("--queue-seconds", help="With --server: bound on the wait for a worker."),
]
Detach = Annotated[
    bool, typer.Option("--detach", help="With --server: print the job's id and end.")
]

AT_A_SERVER = ("seconds", "label", "priority", "queue_seconds", "detach")
"""Options that only a service knows."""


def tune(
    context: typer.Context,
    source: options.Source,
    trials: options.Trials,
    target: options.Target = "host",
    threads: options.Threads = None,
    db: options.Database = None,
    seed: options.Seed = 0,
    compiler: options.Compiler = None,
    journal: options.Journal = None,
    json: options.Json = False,
    server: options.Server = None,
    seconds: Seconds = None,
    label: Labels = None,
    priority: Priority = 0,
    queue_seconds: QueueSeconds = None,
    detach: Detach = False,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
) -> int:
    """Tune a model, a graph or cases of the suite.

    The identical command goes on with its unfinished job; any other starts from the history there is. With --server the
    service tunes, for its only target unless one is named.
    """
    if server is None:
        options.refuse(context, *AT_A_SERVER, because="needs --server")
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
            labels=_labels(label),
            priority=priority,
            queue_seconds=queue_seconds,
        )
        if not detach:
            from autosched.cli.following import follow_job

            return follow_job(client, job, json=json)
    if json:
        print_json(job)
    else:
        OUT.print(job.id, markup=False)
    return DONE


def _labels(given: Sequence[str] | None) -> dict[str, str] | None:
    """By name. InvalidInput: one that has no value, or two of one name."""
    found: dict[str, str] = {}
    for text in given or ():
        name, colon, value = text.partition(":")
        if not colon or not name:
            raise InvalidInput(f"--label {text!r}: must be NAME:VALUE")
        if name in found:
            raise InvalidInput(f"--label {text!r}: there is one of that name already")
        found[name] = value
    return found or None


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
