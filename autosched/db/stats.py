"""What a database holds, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from autosched.db.engine import in_read
from autosched.db.location import printable
from autosched.db.schema import JobRow, RunRow, Table, TrialRow
from autosched.db.store import SqlTuningStore
from autosched.db.upgrade import current_revision


@dataclass(frozen=True)
class Stats:
    """`rows` by table; `jobs` by state, `outcomes` and `purposes` as the trials and runs have them. `open_trials` were
    proposed and have no result. `size_bytes` with the write-ahead log."""

    url: str
    schema_version: str
    size_bytes: int
    rows: Mapping[str, int]
    jobs: Mapping[str, int]
    outcomes: Mapping[str, int]
    purposes: Mapping[str, int]
    open_trials: int
    reused_trials: int
    first_trial_at: datetime | None
    last_trial_at: datetime | None

    def to_json(self) -> dict[str, Any]:
        """Times as RFC 3339."""
        times = {"first_trial_at": self.first_trial_at, "last_trial_at": self.last_trial_at}
        texts = {name: t and t.isoformat() for name, t in times.items()}
        return asdict(self) | texts


def stats(store: SqlTuningStore) -> Stats:
    return in_read(store.engine, _stats)


def _stats(connection: Connection) -> Stats:
    tables = Table.metadata.sorted_tables
    rows = {t.name: _count(connection, select(func.count()).select_from(t)) for t in tables}
    outcomes = _counts(connection, TrialRow.outcome)
    first, last = connection.execute(
        select(func.min(TrialRow.proposed_at), func.max(TrialRow.proposed_at))
    ).one()
    reused = select(func.count(TrialRow.reused_id))
    return Stats(
        url=printable(connection.engine.url),
        schema_version=current_revision(connection),
        size_bytes=_size_bytes(connection),
        rows=rows,
        jobs=_counts(connection, JobRow.state),
        outcomes={name: n for name, n in outcomes.items() if name is not None},
        purposes=_counts(connection, RunRow.purpose),
        open_trials=outcomes.get(None, 0),
        reused_trials=_count(connection, reused),
        first_trial_at=first,
        last_trial_at=last,
    )


def _count(connection: Connection, wanted: Any) -> int:
    return int(connection.scalar(wanted) or 0)


def _counts(connection: Connection, column: Any) -> dict[Any, int]:
    rows = connection.execute(select(column, func.count()).group_by(column).order_by(column))
    return dict(rows.all())


def _size_bytes(connection: Connection) -> int:
    url = connection.engine.url
    if connection.dialect.name == "sqlite" and url.database:
        files = [Path(url.database + suffix) for suffix in ("", "-wal")]
        return sum(f.stat().st_size for f in files if f.exists())
    return _count(connection, select(func.pg_database_size(func.current_database())))
