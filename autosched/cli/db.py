"""`autosched db`: upgrade, statistics, exchange and pruning of the database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from autosched.cli import options
from autosched.cli.output import OUT
from autosched.cli.status import DONE

db = typer.Typer(help="The database of results.", no_args_is_help=True)
MOST_DAYS = 36_500
"""A hundred years: nothing is older, and dates end somewhere."""

File = Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines, one record a line.")]


@db.command()
def upgrade(db: options.Database = None) -> int:
    """Bring the database to the current schema; one that does not exist is made."""
    from autosched.db.upgrade import upgrade as run

    OUT.print(f"the schema is at version {run(db)}", markup=False)
    return DONE


@db.command()
def stats(db: options.Database = None, as_json: options.Json = False) -> int:
    """Say what the database holds, in numbers."""
    from autosched.db.stats import stats as run
    from autosched.db.store import open_store

    with open_store(db, must_exist=True) as store:
        found = run(store).to_json()
    if as_json:
        print(json.dumps(found, indent=2))
        return DONE
    for name, value in found.items():
        OUT.print(f"{name:<16}{_text(value)}", markup=False)
    return DONE


@db.command("export")
def export(file: File, db: options.Database = None) -> int:
    """Write every finished record to a file."""
    from autosched.db.exporting import export_file
    from autosched.db.store import open_store

    with open_store(db, must_exist=True) as store:
        OUT.print(f"{file}: {_text(export_file(store, file))}", markup=False)
    return DONE


@db.command("import")
def import_(file: File, db: options.Database = None) -> int:
    """Take in what `export` wrote; what is there already stays as it is."""
    from autosched.db.importing import import_file
    from autosched.db.store import open_store

    with open_store(db) as store:
        OUT.print(f"new: {_text(import_file(store, file))}", markup=False)
    return DONE


@db.command()
def prune(
    days: Annotated[
        int,
        typer.Option(
            "--days", min=0, max=MOST_DAYS, help="Forget trials closed longer ago than this."
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    db: options.Database = None,
) -> int:
    """Forget old trials that no winner, unfinished job or comparison needs, and what a service keeps for a while."""
    from autosched.db.prune import prune as run
    from autosched.db.store import open_store

    with open_store(db, must_exist=True) as store:
        gone = run(store, datetime.now(UTC) - timedelta(days=days), dry_run=dry_run)
    verb = "would be forgotten" if dry_run else "forgotten"
    OUT.print(f"{gone.trials} trials and {gone.measurements} measurements {verb}")
    of_service = {f.name: n for f in fields(gone)[2:] if (n := getattr(gone, f.name))}
    if of_service:
        OUT.print(f"of the service {verb}: {_text(of_service)}", markup=False)
    return DONE


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{n} {k}" for k, n in value.items()) or "nothing"
    return "-" if value is None else str(value)
