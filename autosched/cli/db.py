"""`autosched db`: upgrade, statistics, exchange and pruning of the database."""

from __future__ import annotations

import typer

from autosched.cli import options
from autosched.cli.output import OUT

db = typer.Typer(help="The database of results.", no_args_is_help=True)


@db.command()
def upgrade(db: options.Database = None) -> int:
    """Bring the database to the current schema; one that does not exist is made."""
    from autosched.entry.best import open_store

    with open_store(db) as store:
        OUT.print(
            f"{store.engine.url.render_as_string(hide_password=True)} is up to date", markup=False
        )
    return 0
