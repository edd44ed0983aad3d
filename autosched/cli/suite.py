"""`autosched suite list`: the shipped cases."""

from __future__ import annotations

from typing import Annotated

import typer

from autosched.cli.output import OUT, table
from autosched.cli.status import DONE

suite = typer.Typer(help="The shipped suite of operator cases.", no_args_is_help=True)


@suite.callback()
def _suite() -> None:
    """The shipped suite of operator cases."""


@suite.command("list")
def list_cases(
    pattern: Annotated[str, typer.Argument(help="A shell pattern, as in suite:PATTERN.")] = "*",
) -> int:
    """List the cases that match a pattern."""
    from autosched.ops.suite import suite_case, suite_names

    rows = [
        (f"suite:{name}", ", ".join(f"{k} {v}" for k, v in suite_case(name).args.items()))
        for name in suite_names(pattern)
    ]
    OUT.print(table("", ("source", "arguments"), rows))
    return DONE
