"""A job of a service, followed to its end: progress on stderr, then what it brought, then the exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autosched.cli.output import ERR, counted, ended_text
from autosched.cli.progress import ProgressView
from autosched.cli.report import failed_tasks, print_report
from autosched.cli.status import DONE, FAILED, INTERRUPTED

if TYPE_CHECKING:
    from autosched.client import Client
    from autosched.wire.job import FailureDocument, JobDocument

MOST_FAILURES = 5


def follow_job(client: Client, job: JobDocument, *, json: bool) -> int:
    """Shows the job until it ends. An interrupt leaves it running and says how to come back to it."""
    from autosched.client import ServiceAway
    from autosched.entry.served_job import watch

    server = f"--server {client.address}"
    try:
        with ProgressView(ERR) as view:
            ended, document = watch(client, job, view)
    except KeyboardInterrupt:
        ERR.print(
            f"detached: job {job.id} goes on; `autosched jobs follow {job.id} {server}` comes back to it, "
            f"`autosched jobs cancel {job.id} {server}` ends it",
            markup=False,
        )
        return INTERRUPTED
    except ServiceAway as error:
        raise ServiceAway(
            f"{error}; job {job.id} may go on: `autosched jobs follow {job.id} {server}`"
        ) from error
    print_report(document, json=json)
    if ended.state != "succeeded":
        print_end(ended)
    return DONE if ended.state == "succeeded" and not failed_tasks(document) else FAILED


def print_end(job: JobDocument) -> None:
    """On stderr: how a job ended that did not succeed, and what failed most."""
    ending = ended_text(job.state, job.end_reason)
    ERR.print(
        f"job {job.id} {ending}: {job.trials} of {job.budget.trials} trials",
        markup=False,
    )
    if job.error:
        ERR.print(job.error, markup=False)
    for failure in job.failures[:MOST_FAILURES]:
        ERR.print(failure_line(failure), markup=False)


def failure_line(failure: FailureDocument) -> str:
    trials = counted(failure.count, "trial")
    return f"{trials} {failure.outcome}: {failure.kind} (one is {failure.example_trial})"
