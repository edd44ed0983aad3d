"""Importing an export file: checked whole, then inserted in one transaction; what is there already stays.

| in the file | in the database |
|---|---|
| a key, a job, a task, a trial, a run that is there | left alone: importing twice changes nothing |
| an unfinished job | comes in as cancelled: its command is resumed only where it began |
| a trial whose candidate is measured in its setting | comes in as reusing that result |
| a winner | becomes the best if none stands, or one with a slower time |

Nothing read here is believed beyond its form: a candidate's values meet the sketch's domains before code is made of
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autosched.db.engine import in_write
from autosched.db.inserting import insert_file
from autosched.db.reading import read_file
from autosched.db.store import SqlTuningStore


def import_file(store: SqlTuningStore, path: Path) -> Mapping[str, int]:
    """Take in what `export_file` wrote; answers how many of each kind were new.

    InvalidInput names the line and the rule it breaks, and nothing of the file is stored.
    """
    file = read_file(path)
    return in_write(store.engine, lambda connection: insert_file(connection, file))
