"""The `autosched` program: the table of commands, and the one place where errors become a line and a status."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Annotated

import typer

from autosched.cli.bench import bench
from autosched.cli.best import best
from autosched.cli.build import build
from autosched.cli.db import db
from autosched.cli.doctor import doctor
from autosched.cli.explain import explain
from autosched.cli.jobs import jobs
from autosched.cli.ops import ops
from autosched.cli.output import print_error
from autosched.cli.run import run
from autosched.cli.serve import serve
from autosched.cli.status import BAD_INPUT, DONE, FAILED, INTERRUPTED
from autosched.cli.suite import suite
from autosched.cli.token import token
from autosched.cli.trial import trial
from autosched.cli.tune import tune
from autosched.cli.verify import verify
from autosched.cli.worker import worker
from autosched.cli.workers import workers
from autosched.errors import AutoschedError, InvalidInput

USAGE_ERRORS: type[Exception] = typer.BadParameter.__mro__[2]
"""What every error of usage is; typer keeps it under a private name, between its parameter errors and Exception."""

app = typer.Typer(
    name="autosched",
    help="Fast deep-learning kernels by search: graphs in, tuned and verified kernels out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from autosched.entry.product_version import product_version

        print(f"autosched {product_version()}")
        raise typer.Exit


@app.callback()
def _root(
    asked: Annotated[
        bool,
        typer.Option(
            "--version", help="Say which version this is.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Fast deep-learning kernels by search: graphs in, tuned and verified kernels out."""


LOCAL = (tune, best, verify, bench, build, run, explain, trial, doctor, ops)
SERVICE = (serve, worker, workers)
for command in (*LOCAL, *SERVICE):
    app.command()(command)
app.add_typer(suite, name="suite")
app.add_typer(db, name="db")
app.add_typer(jobs, name="jobs")
app.add_typer(token, name="token")


def main() -> None:
    """Runs the command line and exits with its status."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """The exit status of one command; a bug of ours still shows its traceback."""
    try:
        status = app(arguments, prog_name="autosched", standalone_mode=False)
    except USAGE_ERRORS as error:
        error.show()  # type: ignore[attr-defined]
        return BAD_INPUT
    except InvalidInput as error:
        print_error(str(error))
        return BAD_INPUT
    except AutoschedError as error:
        print_error(str(error))
        return FAILED
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    return status if isinstance(status, int) else DONE


def _interrupt(number: int, frame: FrameType | None) -> None:
    """A polite end from outside is an interrupt like Ctrl-C, in the background too."""
    raise KeyboardInterrupt
