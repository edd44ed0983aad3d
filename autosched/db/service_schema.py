"""The tables of the service: who holds what, what happened, who may ask. Change one, and a new migration must follow.

| table | one row is | unique by |
|---|---|---|
| leases | a job or device and who holds it | (kind, name) |
| job_events | something that happened to a job | (job, number) |
| turns | one use of a device by a job | id |
| workers | a process with devices | id |
| tokens | what is kept of a token | id |
| counters | a number that grows | name |

Leases are apart from jobs, for a heartbeat rewrites its row: a narrow one.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, get_args

from sqlalchemy import JSON, BigInteger, CheckConstraint, Double, ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from autosched.db.schema import Key, Serial, Table, Word, listed
from autosched.db.types import UtcDateTime
from autosched.jobs.record import EventType
from autosched.jobs.workers import WorkerState

JOB = "job"
DEVICE = "device"


class LeaseRow(Table):
    """`until` is seconds since 1970 by the database's clock. `is_inherited`: the holder before ended without handing
    it over."""

    __tablename__ = "leases"
    __table_args__ = (CheckConstraint(f"kind in ('{JOB}', '{DEVICE}')", name="kind"),)

    kind: Mapped[str] = mapped_column(Word, primary_key=True)
    name: Mapped[str] = mapped_column(Text, primary_key=True)
    holder: Mapped[str] = mapped_column(Text)
    fence: Mapped[int]
    until: Mapped[float] = mapped_column(Double)
    is_released: Mapped[bool]
    is_inherited: Mapped[bool]


class EventRow(Table):
    __tablename__ = "job_events"
    __table_args__ = (
        CheckConstraint(f"type in ({listed(get_args(EventType))})", name="type"),
        CheckConstraint("number >= 1", name="number"),
    )

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    type: Mapped[str] = mapped_column(Word)
    data: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class TurnRow(Table):
    """`ended_at` is seconds since 1970 by the database's clock."""

    __tablename__ = "turns"

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    device: Mapped[str] = mapped_column(Text)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"))
    owner: Mapped[str] = mapped_column(Key)
    ended_at: Mapped[float] = mapped_column(Double, index=True)
    seconds: Mapped[float] = mapped_column(Double)


class WorkerRow(Table):
    __tablename__ = "workers"
    __table_args__ = (CheckConstraint(f"state in ({listed(get_args(WorkerState))})", name="state"),)

    id: Mapped[str] = mapped_column(Key, primary_key=True)
    host: Mapped[str] = mapped_column(Text)
    target_key: Mapped[str] = mapped_column(ForeignKey("targets.key"))
    max_threads: Mapped[int]
    toolchain_key: Mapped[str] = mapped_column(ForeignKey("toolchains.key"))
    devices: Mapped[list[str]] = mapped_column(JSON)
    versions: Mapped[dict[str, str]] = mapped_column(JSON)
    state: Mapped[str] = mapped_column(Word)
    note: Mapped[str] = mapped_column(Text)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)


class TokenRow(Table):
    """`digest` is the SHA-256 of the token's text, `scopes` are words between blanks."""

    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(Key, primary_key=True)
    owner: Mapped[str] = mapped_column(Key)
    scopes: Mapped[str] = mapped_column(Text)
    digest: Mapped[str] = mapped_column(Key)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class CounterRow(Table):
    __tablename__ = "counters"

    name: Mapped[str] = mapped_column(Key, primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)
