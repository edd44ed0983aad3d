"""The tables. Change one, and a new migration must follow (`alembic check` is a test).

| table | one row is | unique by |
|---|---|---|
| targets, toolchains, workloads | the data behind a key | key |
| calibrations | the best value seen of one measured number of a target | (target, name) |
| jobs | what a user asked for | id; one unfinished of a specification |
| tasks | one workload of a job | id; (job, position) |
| job_history | an earlier trial that a job's search started from | (job, position) |
| trials | one candidate of a task | (task, number); (task, candidate); one measured of a setting |
| measurements | one run of a trial | one search run a trial |
| best | the confirmed winner of a setting | (workload, target, toolchain) |

Those of the service stand in `service_schema`. A setting is workload, target and toolchain: what a candidate's result
holds for. Seconds are seconds a call.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Text,
    TextClause,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from autosched.db.types import FloatRow, UtcDateTime
from autosched.records.outcome import Outcome
from autosched.records.record import Purpose
from autosched.records.rules import UNMEASURED
from autosched.records.store import JobState

Key = String(80)
Word = String(20)
Serial = BigInteger().with_variant(Integer, "sqlite")


def listed(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


_ZERO = text("0")
OUTCOMES = listed(Outcome)
_MEASURED_ONCE = text(
    f"number > 0 and reused_id is null and outcome not in ({listed(sorted(UNMEASURED))})"
)
_UNFINISHED = text("ended_at is null")
_QUEUED = text("owner is not null and ended_at is null")
_SUBMITTED = text("owner is not null")
_REUSING = text("reused_id is not null")
_KEYED = text("idempotency_key is not null")
IS_HISTORY = text("outcome is not null and outcome <> 'pruned' and reused_id is null")
"""Trials that a search starts from. A query takes the condition as it stands, so that their indexes serve it."""

_SEARCH_RUN = text("purpose = 'search'")


def _where(name: str, *columns: str, where: TextClause, unique: bool = False) -> Index:
    """An index of some rows."""
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


class Table(DeclarativeBase):
    """Constraints are named by rule, so that a migration can drop what another made."""

    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        }
    )


class TargetRow(Table):
    __tablename__ = "targets"

    key: Mapped[str] = mapped_column(Key, primary_key=True)
    kind: Mapped[str] = mapped_column(Word)
    isa: Mapped[str] = mapped_column(Key, index=True)
    core_kind: Mapped[str] = mapped_column(Key)
    threads: Mapped[int]
    fields: Mapped[dict[str, Any]] = mapped_column(JSON)


class ToolchainRow(Table):
    __tablename__ = "toolchains"

    key: Mapped[str] = mapped_column(Key, primary_key=True)
    fields: Mapped[dict[str, Any]] = mapped_column(JSON)


class WorkloadRow(Table):
    __tablename__ = "workloads"

    key: Mapped[str] = mapped_column(Key, primary_key=True)
    family_key: Mapped[str] = mapped_column(Key, index=True)
    text: Mapped[str] = mapped_column(Text)


class CalibrationRow(Table):
    """The best value seen of one measured number of a target ("peak_flops"); never part of its key. There may be some
    before the first job."""

    __tablename__ = "calibrations"

    target_key: Mapped[str] = mapped_column(Key, primary_key=True)
    name: Mapped[str] = mapped_column(Key, primary_key=True)
    value: Mapped[float] = mapped_column(Double)


class JobRow(Table):
    """`spec_key` is the digest of the specification, whose fields are the columns after it; of a submitted job it is
    the id, for two may submit the same.

    A submitted job has an owner, and columns from there on; nobody claims one without. `fence` counts its claims,
    `event_count` its events, `spent_seconds` its turns on devices; `error` says why it failed, as its last event does.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(f"state in ({listed(get_args(JobState))})", name="state"),
        _where("uq_jobs_unfinished", "spec_key", where=_UNFINISHED, unique=True),
        _where("uq_jobs_idempotency", "owner", "idempotency_key", where=_KEYED, unique=True),
        _where("ix_jobs_queued", "target_key", where=_QUEUED),
        _where("ix_jobs_submitted", "owner", "id", where=_SUBMITTED),
    )

    id: Mapped[str] = mapped_column(Key, primary_key=True)
    spec_key: Mapped[str] = mapped_column(Key)
    source: Mapped[str] = mapped_column(Text)
    source_key: Mapped[str] = mapped_column(Key)
    target_key: Mapped[str] = mapped_column(ForeignKey("targets.key"))
    toolchain_key: Mapped[str] = mapped_column(ForeignKey("toolchains.key"))
    threads: Mapped[int]
    seed: Mapped[str] = mapped_column(Key)  # no integer column is wide enough for every seed
    trials: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(Word)
    end_reason: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    owner: Mapped[str | None] = mapped_column(Key)
    priority: Mapped[int] = mapped_column(server_default=_ZERO)
    labels: Mapped[dict[str, str]] = mapped_column(JSON, server_default=text("'{}'"))
    seconds: Mapped[float | None] = mapped_column(Double)
    policy: Mapped[str] = mapped_column(Word, server_default="evolutionary")
    fence: Mapped[int] = mapped_column(server_default=_ZERO)
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    queue_seconds: Mapped[float | None] = mapped_column(Double)
    queued_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    cancel_asked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    idempotency_key: Mapped[str | None] = mapped_column(Text)
    body_digest: Mapped[str] = mapped_column(Text, server_default="")
    upload_bytes: Mapped[int] = mapped_column(BigInteger, server_default=_ZERO)
    event_count: Mapped[int] = mapped_column(server_default=_ZERO)
    spent_seconds: Mapped[float] = mapped_column(Double, server_default=_ZERO)
    error: Mapped[str] = mapped_column(Text, server_default="")


class TaskRow(Table):
    """The standing of its last side-by-side run is written with that run: the default's time in it and the run of its
    winner (no foreign key, for runs refer to trials and these to tasks; such a run is never forgotten). `forgotten` counts
    the trials that are no longer there, by outcome."""

    __tablename__ = "tasks"
    __table_args__ = (UniqueConstraint("job_id", "position"),)

    id: Mapped[str] = mapped_column(Key, primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"))
    position: Mapped[int]
    name: Mapped[str] = mapped_column(Text)
    workload_key: Mapped[str] = mapped_column(ForeignKey("workloads.key"))
    target_key: Mapped[str] = mapped_column(ForeignKey("targets.key"))
    toolchain_key: Mapped[str] = mapped_column(ForeignKey("toolchains.key"))
    weight: Mapped[int]
    reference: Mapped[str] = mapped_column(Text, server_default="")
    operations: Mapped[float | None] = mapped_column(Double)
    bound_seconds: Mapped[float | None] = mapped_column(Double)
    default_seconds: Mapped[float | None] = mapped_column(Double)
    best_run_id: Mapped[int | None] = mapped_column(Serial)
    forgotten: Mapped[dict[str, int]] = mapped_column(JSON, server_default=text("'{}'"))


class TrialRow(Table):
    """`id` grows as trials are proposed. `outcome`, `median_seconds` and `closed_at` repeat those of the search run;
    that run belongs to the trial `reused_id` where there is one."""

    __tablename__ = "trials"
    __table_args__ = (
        UniqueConstraint("task_id", "number"),
        UniqueConstraint("task_id", "candidate_key"),
        CheckConstraint(f"outcome in ({OUTCOMES})", name="outcome"),
        CheckConstraint("number >= 0 and attempt >= 1", name="number"),
        _where(
            "uq_trials_measured_once",
            "candidate_key",
            "workload_key",
            "target_key",
            "toolchain_key",
            where=_MEASURED_ONCE,
            unique=True,
        ),
        Index(None, "task_id", "outcome"),
        _where("ix_trials_reused_id", "reused_id", where=_REUSING),
        _where(
            "ix_trials_history_of_workload", "workload_key", "target_key", "id", where=IS_HISTORY
        ),
        _where("ix_trials_history_of_target", "target_key", "id", where=IS_HISTORY),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    task_id: Mapped[str] = mapped_column(ForeignKey("tasks.id"))
    number: Mapped[int]
    round: Mapped[int]
    attempt: Mapped[int]
    workload_key: Mapped[str] = mapped_column(ForeignKey("workloads.key"))
    target_key: Mapped[str] = mapped_column(ForeignKey("targets.key"))
    toolchain_key: Mapped[str] = mapped_column(ForeignKey("toolchains.key"))
    candidate_key: Mapped[str] = mapped_column(Key, index=True)
    structure_key: Mapped[str] = mapped_column(Key)
    derivation: Mapped[list[Any]] = mapped_column(JSON)
    values: Mapped[dict[str, Any]] = mapped_column(JSON)
    space_version: Mapped[str] = mapped_column(Key)
    features: Mapped[tuple[float, ...]] = mapped_column(FloatRow)
    features_schema: Mapped[str] = mapped_column(Key)
    outcome: Mapped[str | None] = mapped_column(Word)
    median_seconds: Mapped[float | None] = mapped_column(Double)
    reused_id: Mapped[int | None] = mapped_column(ForeignKey("trials.id"))
    proposed_at: Mapped[datetime] = mapped_column(UtcDateTime)
    closed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class HistoryRow(Table):
    __tablename__ = "job_history"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    trial_id: Mapped[int] = mapped_column(ForeignKey("trials.id"), index=True)


class RunRow(Table):
    """A measurement. Timing columns are null together: a run without a timing. `side_by_side` is shared by the runs
    of one interleaved comparison."""

    __tablename__ = "measurements"
    __table_args__ = (
        CheckConstraint(f"purpose in ({listed(get_args(Purpose))})", name="purpose"),
        CheckConstraint(f"outcome in ({OUTCOMES})", name="outcome"),
        CheckConstraint(
            "outcome <> 'ok' or (median_seconds is not null and median_seconds > 0)", name="timing"
        ),
        UniqueConstraint("trial_id", "side_by_side"),
        _where("uq_measurements_search_run", "trial_id", where=_SEARCH_RUN, unique=True),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    trial_id: Mapped[int] = mapped_column(ForeignKey("trials.id"))
    purpose: Mapped[str] = mapped_column(Word)
    side_by_side: Mapped[str | None] = mapped_column(Key)
    outcome: Mapped[str] = mapped_column(Word)
    median_seconds: Mapped[float | None] = mapped_column(Double)
    spread_seconds: Mapped[float | None] = mapped_column(Double)
    n_samples: Mapped[int | None]
    contended_share: Mapped[float | None] = mapped_column(Double)
    threads: Mapped[int | None]
    mode: Mapped[str | None] = mapped_column(Word)
    error: Mapped[str] = mapped_column(Text)
    log: Mapped[str] = mapped_column(Text)
    build_seconds: Mapped[float] = mapped_column(Double)
    run_seconds: Mapped[float] = mapped_column(Double)
    source_digest: Mapped[str] = mapped_column(Key)
    max_error: Mapped[float | None] = mapped_column(Double)
    early_stopped: Mapped[bool]
    environment: Mapped[dict[str, Any]] = mapped_column(JSON)
    measured_at: Mapped[datetime] = mapped_column(UtcDateTime)


class BestRow(Table):
    """The winner's timing is that of its run in the interleaved comparison, as is `default_seconds`. `family_key` and
    `log2_size`, of all extents of the workload together, find the winners of near shapes."""

    __tablename__ = "best"
    __table_args__ = (Index(None, "family_key", "log2_size", "workload_key"),)

    workload_key: Mapped[str] = mapped_column(ForeignKey("workloads.key"), primary_key=True)
    target_key: Mapped[str] = mapped_column(ForeignKey("targets.key"), primary_key=True)
    toolchain_key: Mapped[str] = mapped_column(ForeignKey("toolchains.key"), primary_key=True)
    trial_id: Mapped[int] = mapped_column(ForeignKey("trials.id"), index=True)
    measurement_id: Mapped[int] = mapped_column(ForeignKey("measurements.id"), index=True)
    space_version: Mapped[str] = mapped_column(Key)
    source_digest: Mapped[str] = mapped_column(Key)
    default_seconds: Mapped[float] = mapped_column(Double)
    measured_at: Mapped[datetime] = mapped_column(UtcDateTime)
    family_key: Mapped[str] = mapped_column(Key, server_default="")
    log2_size: Mapped[float] = mapped_column(Double, server_default=_ZERO)
