"""The tables of a service: submitted jobs, leases, events, turns, workers, tokens, counters.

From 0001 to 0002. Jobs of 0001 have no owner and stay with the command that made them. Winners learn their family and
size from the texts of their workloads.
"""

import hashlib
import math
import re

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KEY = sa.String(80)
WORD = sa.String(20)
TIME = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
ZERO = sa.text("0")

CONSTANT = re.compile(r"(?<![^\s(\[,])[^\s(\[,]+:(?=[a-z]+\d*\b)")
NUMBER = re.compile(r"(?<![\w.:])\d+(?![\w.:])")


def upgrade() -> None:
    widen_jobs()
    widen_tasks()
    widen_best()
    index_trials()
    create_leases()
    create_job_events()
    create_turns()
    create_workers()
    create_tokens()
    create_counters()


def downgrade() -> None:
    for table in ("counters", "tokens", "workers", "turns", "job_events", "leases"):
        op.drop_table(table)
    op.drop_index("ix_trials_history_of_target", "trials")
    op.drop_index("ix_trials_history_of_workload", "trials")
    op.drop_index("ix_trials_task_id_outcome", "trials")
    op.drop_index("ix_trials_reused_id", "trials")
    op.create_index("ix_trials_reused_id", "trials", ["reused_id"])
    op.create_index("ix_trials_target_key_id", "trials", ["target_key", "id"])
    op.create_index("ix_trials_workload_key_id", "trials", ["workload_key", "id"])
    op.drop_index("ix_best_measurement_id", "best")
    op.drop_index("ix_best_family_key_log2_size_workload_key", "best")
    for column in best_columns():
        op.drop_column("best", column.name)
    for column in task_columns():
        op.drop_column("tasks", column.name)
    for index in ("uq_jobs_idempotency", "ix_jobs_queued", "ix_jobs_submitted"):
        op.drop_index(index, "jobs")
    for column in job_columns():
        op.drop_column("jobs", column.name)


def job_columns() -> list[sa.Column]:
    return [
        sa.Column("owner", KEY, nullable=True),
        sa.Column("priority", sa.Integer(), server_default=ZERO, nullable=False),
        sa.Column("labels", sa.JSON(), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("policy", WORD, server_default="evolutionary", nullable=False),
        sa.Column("fence", sa.Integer(), server_default=ZERO, nullable=False),
        sa.Column("started_at", TIME, nullable=True),
        sa.Column("queue_seconds", sa.Double(), nullable=True),
        sa.Column("queued_until", TIME, nullable=True),
        sa.Column("cancel_asked_at", TIME, nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("body_digest", sa.Text(), server_default="", nullable=False),
        sa.Column("upload_bytes", sa.BigInteger(), server_default=ZERO, nullable=False),
        sa.Column("event_count", sa.Integer(), server_default=ZERO, nullable=False),
        sa.Column("spent_seconds", sa.Double(), server_default=ZERO, nullable=False),
    ]


def task_columns() -> list[sa.Column]:
    return [
        sa.Column("reference", sa.Text(), server_default="", nullable=False),
        sa.Column("operations", sa.Double(), nullable=True),
        sa.Column("bound_seconds", sa.Double(), nullable=True),
        sa.Column("default_seconds", sa.Double(), nullable=True),
        sa.Column("best_run_id", SERIAL, nullable=True),
    ]


def best_columns() -> list[sa.Column]:
    return [
        sa.Column("family_key", KEY, server_default="", nullable=False),
        sa.Column("log2_size", sa.Double(), server_default=ZERO, nullable=False),
    ]


def create_partial_index(name: str, table: str, columns: list[str], where: str, **options) -> None:
    condition = sa.text(where)
    op.create_index(
        name, table, columns, sqlite_where=condition, postgresql_where=condition, **options
    )


def widen_jobs() -> None:
    for column in job_columns():
        op.add_column("jobs", column)
    create_partial_index(
        "uq_jobs_idempotency",
        "jobs",
        ["owner", "idempotency_key"],
        "idempotency_key is not null",
        unique=True,
    )
    create_partial_index(
        "ix_jobs_queued", "jobs", ["target_key"], "owner is not null and ended_at is null"
    )
    create_partial_index("ix_jobs_submitted", "jobs", ["owner", "id"], "owner is not null")


def widen_tasks() -> None:
    for column in task_columns():
        op.add_column("tasks", column)


def widen_best() -> None:
    for column in best_columns():
        op.add_column("best", column)
    connection = op.get_bind()
    texts = sa.text(
        "select distinct best.workload_key, workloads.text "
        "from best join workloads on workloads.key = best.workload_key"
    )
    fill = sa.text(
        "update best set family_key = :family, log2_size = :size where workload_key = :key"
    )
    for key, text in connection.execute(texts).all():
        connection.execute(fill, {"key": key, "family": family_key(text), "size": log2_size(text)})
    op.create_index(
        "ix_best_family_key_log2_size_workload_key",
        "best",
        ["family_key", "log2_size", "workload_key"],
    )
    op.create_index("ix_best_measurement_id", "best", ["measurement_id"])


def family_key(text: str) -> str:
    """As this version's lookups have it: the digest of the text without its extents."""
    abstract = NUMBER.sub("#", CONSTANT.sub("#:", text))
    return f"f1-{hashlib.sha256(abstract.encode()).hexdigest()[:32]}"


def log2_size(text: str) -> float:
    """Of all extents together; an empty one counts as a half."""
    extents = NUMBER.findall(CONSTANT.sub("#:", text))
    return sum(math.log2(max(int(n), 0.5)) for n in extents)


def index_trials() -> None:
    op.drop_index("ix_trials_target_key_id", "trials")
    op.drop_index("ix_trials_workload_key_id", "trials")
    op.drop_index("ix_trials_reused_id", "trials")
    create_partial_index("ix_trials_reused_id", "trials", ["reused_id"], "reused_id is not null")
    op.create_index("ix_trials_task_id_outcome", "trials", ["task_id", "outcome"])
    where = "outcome is not null and outcome <> 'pruned' and reused_id is null"
    create_partial_index(
        "ix_trials_history_of_workload", "trials", ["workload_key", "target_key", "id"], where
    )
    create_partial_index("ix_trials_history_of_target", "trials", ["target_key", "id"], where)


def create_leases() -> None:
    op.create_table(
        "leases",
        sa.Column("kind", WORD, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("is_released", sa.Boolean(), nullable=False),
        sa.Column("is_inherited", sa.Boolean(), nullable=False),
        sa.CheckConstraint("kind in ('job', 'device')", name="ck_leases_kind"),
        sa.PrimaryKeyConstraint("kind", "name", name="pk_leases"),
    )


def create_job_events() -> None:
    op.create_table(
        "job_events",
        sa.Column("job_id", KEY, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("type", WORD, nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(
            "type in ('job', 'task', 'progress', 'best', 'end')", name="ck_job_events_type"
        ),
        sa.CheckConstraint("number >= 1", name="ck_job_events_number"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_job_events_job_id"),
        sa.PrimaryKeyConstraint("job_id", "number", name="pk_job_events"),
    )
    op.create_index("ix_job_events_created_at", "job_events", ["created_at"])


def create_turns() -> None:
    op.create_table(
        "turns",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("job_id", KEY, nullable=False),
        sa.Column("owner", KEY, nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_turns_job_id"),
        sa.PrimaryKeyConstraint("id", name="pk_turns"),
    )
    op.create_index("ix_turns_ended_at", "turns", ["ended_at"])


def create_workers() -> None:
    op.create_table(
        "workers",
        sa.Column("id", KEY, nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("target_key", KEY, nullable=False),
        sa.Column("max_threads", sa.Integer(), nullable=False),
        sa.Column("toolchain_key", KEY, nullable=False),
        sa.Column("devices", sa.JSON(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("state", WORD, nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("seen_at", TIME, nullable=False),
        sa.CheckConstraint("state in ('active', 'draining', 'gone')", name="ck_workers_state"),
        sa.ForeignKeyConstraint(["target_key"], ["targets.key"], name="fk_workers_target_key"),
        sa.ForeignKeyConstraint(
            ["toolchain_key"], ["toolchains.key"], name="fk_workers_toolchain_key"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
    )


def create_tokens() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", KEY, nullable=False),
        sa.Column("owner", KEY, nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("digest", KEY, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=True),
        sa.Column("revoked_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
    )


def create_counters() -> None:
    op.create_table(
        "counters",
        sa.Column("name", KEY, nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_counters"),
    )
