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

A setting is workload, target and toolchain: what a candidate's result holds for. Seconds are seconds a call.
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


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


OUTCOMES = _listed(Outcome)
_MEASURED_ONCE = text(
    f"number > 0 and reused_id is null and outcome not in ({_listed(sorted(UNMEASURED))})"
)
_UNFINISHED = text("ended_at is null")
_SEARCH_RUN = text("purpose = 'search'")


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
    """`spec_key` is the digest of the specification, whose fields are the columns after it."""

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(f"state in ({_listed(get_args(JobState))})", name="state"),
        Index(
            "uq_jobs_unfinished",
            "spec_key",
            unique=True,
            sqlite_where=_UNFINISHED,
            postgresql_where=_UNFINISHED,
        ),
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


class TaskRow(Table):
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


class TrialRow(Table):
    """`id` grows as trials are proposed. `outcome`, `median_seconds` and `closed_at` repeat those of the search run;
    that run belongs to the trial `reused_id` where there is one."""

    __tablename__ = "trials"
    __table_args__ = (
        UniqueConstraint("task_id", "number"),
        UniqueConstraint("task_id", "candidate_key"),
        CheckConstraint(f"outcome in ({OUTCOMES})", name="outcome"),
        CheckConstraint("number >= 0 and attempt >= 1", name="number"),
        Index(
            "uq_trials_measured_once",
            "candidate_key",
            "workload_key",
            "target_key",
            "toolchain_key",
            unique=True,
            sqlite_where=_MEASURED_ONCE,
            postgresql_where=_MEASURED_ONCE,
        ),
        Index(None, "workload_key", "id"),
        Index(None, "target_key", "id"),
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
    reused_id: Mapped[int | None] = mapped_column(ForeignKey("trials.id"), index=True)
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
        CheckConstraint(f"purpose in ({_listed(get_args(Purpose))})", name="purpose"),
        CheckConstraint(f"outcome in ({OUTCOMES})", name="outcome"),
        CheckConstraint(
            "outcome <> 'ok' or (median_seconds is not null and median_seconds > 0)", name="timing"
        ),
        UniqueConstraint("trial_id", "side_by_side"),
        Index(
            "uq_measurements_search_run",
            "trial_id",
            unique=True,
            sqlite_where=_SEARCH_RUN,
            postgresql_where=_SEARCH_RUN,
        ),
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
    """The winner's timing is that of its run in the interleaved comparison, as is `default_seconds`."""

    __tablename__ = "best"

    workload_key: Mapped[str] = mapped_column(ForeignKey("workloads.key"), primary_key=True)
    target_key: Mapped[str] = mapped_column(ForeignKey("targets.key"), primary_key=True)
    toolchain_key: Mapped[str] = mapped_column(ForeignKey("toolchains.key"), primary_key=True)
    trial_id: Mapped[int] = mapped_column(ForeignKey("trials.id"), index=True)
    measurement_id: Mapped[int] = mapped_column(ForeignKey("measurements.id"))
    space_version: Mapped[str] = mapped_column(Key)
    source_digest: Mapped[str] = mapped_column(Key)
    default_seconds: Mapped[float] = mapped_column(Double)
    measured_at: Mapped[datetime] = mapped_column(UtcDateTime)
