"""`autosched jobs`: what was submitted to a server, and how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from autosched.cli import options
from autosched.cli.connection import connect
from autosched.cli.output import ERR, OUT, ended_text, moment_text, print_json, say_empty, table
from autosched.cli.status import DONE

if TYPE_CHECKING:
    from autosched.wire.job import JobDocument

jobs = typer.Typer(help="Jobs of a server.", no_args_is_help=True)

JobId = Annotated[str, typer.Argument(metavar="ID", help="As `tune --server` and `list` show it.")]


@jobs.command("list")
def list_(
    state: Annotated[
        str | None,
        typer.Option("--state", help="queued, running, succeeded, failed or cancelled."),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="NAME:VALUE", help="Those that carry it.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="At most so many.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Go on where a list said `next`.")
    ] = None,
    server: options.ServiceUrl = options.DEFAULT_SERVER,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
    json: options.Json = False,
) -> int:
    """One line a job, newest first."""
    with connect(server, token, allow_plain_token) as client:
        page = client.jobs(state=state, label=label, limit=limit, cursor=cursor)
    if json:
        print_json(page)
        return DONE
    rows = [
        (
            j.id,
            _state(j),
            f"{j.trials}/{j.budget.trials}",
            j.owner,
            j.source,
            moment_text(j.created_at),
        )
        for j in page.items
    ]
    columns = ("job", "state", "trials", "owner", "source", "submitted")
    texts = ("state", "owner", "source", "submitted")
    if rows:
        OUT.print(table("", columns, rows, texts=texts, whole=("job",)))
    say_empty(rows, "job")
    if page.next is not None:
        ERR.print(f"there are more: --cursor {page.next}", markup=False)
    return DONE


@jobs.command()
def show(
    job_id: JobId,
    server: options.ServiceUrl = options.DEFAULT_SERVER,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
    json: options.Json = False,
) -> int:
    """A job as it stands: its tasks, and what failed in it."""
    with connect(server, token, allow_plain_token) as client:
        job = client.job(job_id)
    if json:
        print_json(job)
    else:
        _show(job)
    return DONE


@jobs.command()
def follow(
    job_id: JobId,
    server: options.ServiceUrl = options.DEFAULT_SERVER,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
    json: options.Json = False,
) -> int:
    """Show a job's progress until it ends, then what it brought; an interrupt leaves it running."""
    from autosched.cli.following import follow_job

    with connect(server, token, allow_plain_token) as client:
        return follow_job(client, client.job(job_id), json=json)


@jobs.command()
def cancel(
    job_id: JobId,
    server: options.ServiceUrl = options.DEFAULT_SERVER,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
    json: options.Json = False,
) -> int:
    """End a job; what it has measured stays."""
    with connect(server, token, allow_plain_token) as client:
        job = client.cancel(job_id)
    _say(job, json, "cancelled" if job.terminal else "will end when its round is measured")
    return DONE


@jobs.command()
def resume(
    job_id: JobId,
    trials: Annotated[
        int | None, typer.Option("--trials", help="A new total; what is done counts.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="A new total of device time.")
    ] = None,
    server: options.ServiceUrl = options.DEFAULT_SERVER,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
    json: options.Json = False,
) -> int:
    """Put a failed or cancelled job back into the queue."""
    with connect(server, token, allow_plain_token) as client:
        job = client.resume(job_id, trials=trials, seconds=seconds)
    _say(job, json, f"{job.state} again, {job.trials} of {job.budget.trials} trials are done")
    return DONE


def _say(job: JobDocument, json: bool, words: str) -> None:
    if json:
        print_json(job)
    else:
        OUT.print(f"job {job.id}: {words}", markup=False)


def _show(job: JobDocument) -> None:
    from autosched.cli.following import failure_line
    from autosched.cli.report import print_tasks

    lines = {
        "job": f"{job.id} of {job.owner}",
        "source": f"{job.source}, seed {job.seed}",
        "state": _state(job),
        "error": job.error or "",
        "target": f"{job.target_key}, {job.threads} threads",
        "budget": f"{job.trials} of {job.budget.trials} trials"
        + (f", at most {job.budget.seconds:g} s" if job.budget.seconds is not None else ""),
        "labels": ", ".join(f"{name}={value}" for name, value in job.labels.items()),
        "submitted": moment_text(job.created_at),
        "started": moment_text(job.started_at),
        "ended": moment_text(job.ended_at),
    }
    for name, text in lines.items():
        if text:
            OUT.print(f"{name:<11}{text}", markup=False)
    print_tasks(job.tasks)
    for failure in job.failures:
        OUT.print(failure_line(failure), markup=False)
        if failure.log:
            OUT.print(failure.log.rstrip(), markup=False)


def _state(job: JobDocument) -> str:
    return ended_text(job.state, job.end_reason or job.pending_reason)
