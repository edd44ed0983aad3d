"""Use of devices in SQL, which fair shares are counted in, and the service's counters."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, func, insert, select, update

from autosched.db.clock import now_seconds
from autosched.db.schema import JobRow
from autosched.db.service_schema import CounterRow, TurnRow
from autosched.db.upsert import insert_into
from autosched.jobs.queue import Turn


def add_turn(connection: Connection, turn: Turn) -> None:
    """A turn that has just ended; its seconds count for its owner, and for its job whatever is forgotten later."""
    spent = {"spent_seconds": JobRow.spent_seconds + turn.seconds}
    connection.execute(update(JobRow).where(JobRow.id == turn.job_id).values(spent))
    row = insert(TurnRow).values(
        device=turn.device,
        job_id=turn.job_id,
        owner=turn.owner,
        ended_at=now_seconds(),
        seconds=turn.seconds,
    )
    connection.execute(row)


def owner_seconds(connection: Connection, window_seconds: float) -> Mapping[str, float]:
    recent = (
        select(TurnRow.owner, func.sum(TurnRow.seconds))
        .where(TurnRow.ended_at > now_seconds() - window_seconds)
        .group_by(TurnRow.owner)
    )
    return dict(connection.execute(recent).all())


def count(connection: Connection, increments: Mapping[str, int]) -> None:
    """By name, in one order for everybody."""
    for name, n in sorted(increments.items()):
        insertion = insert_into(connection, CounterRow).values(name=name, value=n)
        total = CounterRow.value + insertion.excluded.value
        connection.execute(
            insertion.on_conflict_do_update(index_elements=[CounterRow.name], set_={"value": total})
        )


def load_counters(connection: Connection) -> Mapping[str, int]:
    rows = connection.execute(select(CounterRow.name, CounterRow.value).order_by(CounterRow.name))
    return dict(rows.all())
