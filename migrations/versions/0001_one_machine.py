"""The tables of one machine: targets, toolchains, workloads, jobs, tasks, trials, measurements, winners.

From an empty database to 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = sa.String(80)
WORD = sa.String(20)
TIME = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OUTCOMES = (
    "outcome in ('ok', 'pruned', 'compile_error', 'compile_deadline', 'run_deadline', 'crashed', "
    "'wrong_result', 'out_of_memory', 'unstable', 'lost')"
)


def upgrade() -> None:
    create_calibrations()
    create_targets()
    create_toolchains()
    create_workloads()
    create_jobs()
    create_tasks()
    create_trials()
    create_job_history()
    create_measurements()
    create_best()


def downgrade() -> None:
    op.drop_table("best")
    op.drop_table("measurements")
    op.drop_table("job_history")
    op.drop_table("trials")
    op.drop_table("tasks")
    op.drop_table("jobs")
    op.drop_table("workloads")
    op.drop_table("toolchains")
    op.drop_table("targets")
    op.drop_table("calibrations")


def create_calibrations() -> None:
    op.create_table(
        "calibrations",
        sa.Column("target_key", KEY, nullable=False),
        sa.Column("name", KEY, nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("target_key", "name", name="pk_calibrations"),
    )


def create_targets() -> None:
    op.create_table(
        "targets",
        sa.Column("key", KEY, nullable=False),
        sa.Column("kind", WORD, nullable=False),
        sa.Column("isa", KEY, nullable=False),
        sa.Column("core_kind", KEY, nullable=False),
        sa.Column("threads", sa.Integer(), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_targets"),
    )
    op.create_index("ix_targets_isa", "targets", ["isa"])


def create_toolchains() -> None:
    op.create_table(
        "toolchains",
        sa.Column("key", KEY, nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_toolchains"),
    )


def create_workloads() -> None:
    op.create_table(
        "workloads",
        sa.Column("key", KEY, nullable=False),
        sa.Column("family_key", KEY, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_workloads"),
    )
    op.create_index("ix_workloads_family_key", "workloads", ["family_key"])


def create_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", KEY, nullable=False),
        sa.Column("spec_key", KEY, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("source_key", KEY, nullable=False),
        sa.Column("target_key", KEY, nullable=False),
        sa.Column("toolchain_key", KEY, nullable=False),
        sa.Column("threads", sa.Integer(), nullable=False),
        sa.Column("seed", KEY, nullable=False),
        sa.Column("trials", sa.BigInteger(), nullable=False),
        sa.Column("state", WORD, nullable=False),
        sa.Column("end_reason", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.CheckConstraint(
            "state in ('queued', 'running', 'succeeded', 'failed', 'cancelled')",
            name="ck_jobs_state",
        ),
        sa.ForeignKeyConstraint(["target_key"], ["targets.key"], name="fk_jobs_target_key"),
        sa.ForeignKeyConstraint(
            ["toolchain_key"], ["toolchains.key"], name="fk_jobs_toolchain_key"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_created_at", "jobs", ["created_at"])
    op.create_index(
        "uq_jobs_unfinished",
        "jobs",
        ["spec_key"],
        unique=True,
        sqlite_where=sa.text("ended_at is null"),
        postgresql_where=sa.text("ended_at is null"),
    )


def create_tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", KEY, nullable=False),
        sa.Column("job_id", KEY, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("workload_key", KEY, nullable=False),
        sa.Column("target_key", KEY, nullable=False),
        sa.Column("toolchain_key", KEY, nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_tasks_job_id"),
        sa.ForeignKeyConstraint(["target_key"], ["targets.key"], name="fk_tasks_target_key"),
        sa.ForeignKeyConstraint(
            ["toolchain_key"], ["toolchains.key"], name="fk_tasks_toolchain_key"
        ),
        sa.ForeignKeyConstraint(["workload_key"], ["workloads.key"], name="fk_tasks_workload_key"),
        sa.PrimaryKeyConstraint("id", name="pk_tasks"),
        sa.UniqueConstraint("job_id", "position", name="uq_tasks_job_id_position"),
    )


def create_trials() -> None:
    op.create_table(
        "trials",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("task_id", KEY, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("workload_key", KEY, nullable=False),
        sa.Column("target_key", KEY, nullable=False),
        sa.Column("toolchain_key", KEY, nullable=False),
        sa.Column("candidate_key", KEY, nullable=False),
        sa.Column("structure_key", KEY, nullable=False),
        sa.Column("derivation", sa.JSON(), nullable=False),
        sa.Column("values", sa.JSON(), nullable=False),
        sa.Column("space_version", KEY, nullable=False),
        sa.Column("features", sa.LargeBinary(), nullable=False),
        sa.Column("features_schema", KEY, nullable=False),
        sa.Column("outcome", WORD, nullable=True),
        sa.Column("median_seconds", sa.Double(), nullable=True),
        sa.Column("reused_id", SERIAL, nullable=True),
        sa.Column("proposed_at", TIME, nullable=False),
        sa.Column("closed_at", TIME, nullable=True),
        sa.CheckConstraint(
            OUTCOMES,
            name="ck_trials_outcome",
        ),
        sa.CheckConstraint("number >= 0 and attempt >= 1", name="ck_trials_number"),
        sa.ForeignKeyConstraint(["reused_id"], ["trials.id"], name="fk_trials_reused_id"),
        sa.ForeignKeyConstraint(["target_key"], ["targets.key"], name="fk_trials_target_key"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_trials_task_id"),
        sa.ForeignKeyConstraint(
            ["toolchain_key"], ["toolchains.key"], name="fk_trials_toolchain_key"
        ),
        sa.ForeignKeyConstraint(["workload_key"], ["workloads.key"], name="fk_trials_workload_key"),
        sa.PrimaryKeyConstraint("id", name="pk_trials"),
        sa.UniqueConstraint("task_id", "candidate_key", name="uq_trials_task_id_candidate_key"),
        sa.UniqueConstraint("task_id", "number", name="uq_trials_task_id_number"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_trials_candidate_key", "trials", ["candidate_key"])
    op.create_index("ix_trials_reused_id", "trials", ["reused_id"])
    op.create_index("ix_trials_target_key_id", "trials", ["target_key", "id"])
    op.create_index("ix_trials_workload_key_id", "trials", ["workload_key", "id"])
    op.create_index(
        "uq_trials_measured_once",
        "trials",
        ["candidate_key", "workload_key", "target_key", "toolchain_key"],
        unique=True,
        sqlite_where=sa.text(
            "number > 0 and reused_id is null and outcome not in ('pruned', 'lost', 'unstable')"
        ),
        postgresql_where=sa.text(
            "number > 0 and reused_id is null and outcome not in ('pruned', 'lost', 'unstable')"
        ),
    )


def create_job_history() -> None:
    op.create_table(
        "job_history",
        sa.Column("job_id", KEY, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("trial_id", SERIAL, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_job_history_job_id"),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name="fk_job_history_trial_id"),
        sa.PrimaryKeyConstraint("job_id", "position", name="pk_job_history"),
    )
    op.create_index("ix_job_history_trial_id", "job_history", ["trial_id"])


def create_measurements() -> None:
    op.create_table(
        "measurements",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("trial_id", SERIAL, nullable=False),
        sa.Column("purpose", WORD, nullable=False),
        sa.Column("side_by_side", KEY, nullable=True),
        sa.Column("outcome", WORD, nullable=False),
        sa.Column("median_seconds", sa.Double(), nullable=True),
        sa.Column("spread_seconds", sa.Double(), nullable=True),
        sa.Column("n_samples", sa.Integer(), nullable=True),
        sa.Column("contended_share", sa.Double(), nullable=True),
        sa.Column("threads", sa.Integer(), nullable=True),
        sa.Column("mode", WORD, nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("log", sa.Text(), nullable=False),
        sa.Column("build_seconds", sa.Double(), nullable=False),
        sa.Column("run_seconds", sa.Double(), nullable=False),
        sa.Column("source_digest", KEY, nullable=False),
        sa.Column("max_error", sa.Double(), nullable=True),
        sa.Column("early_stopped", sa.Boolean(), nullable=False),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.Column("measured_at", TIME, nullable=False),
        sa.CheckConstraint(
            "outcome <> 'ok' or (median_seconds is not null and median_seconds > 0)",
            name="ck_measurements_timing",
        ),
        sa.CheckConstraint(
            OUTCOMES,
            name="ck_measurements_outcome",
        ),
        sa.CheckConstraint(
            "purpose in ('search', 'confirm', 'replay')", name="ck_measurements_purpose"
        ),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name="fk_measurements_trial_id"),
        sa.PrimaryKeyConstraint("id", name="pk_measurements"),
        sa.UniqueConstraint(
            "trial_id", "side_by_side", name="uq_measurements_trial_id_side_by_side"
        ),
    )
    op.create_index(
        "uq_measurements_search_run",
        "measurements",
        ["trial_id"],
        unique=True,
        sqlite_where=sa.text("purpose = 'search'"),
        postgresql_where=sa.text("purpose = 'search'"),
    )


def create_best() -> None:
    op.create_table(
        "best",
        sa.Column("workload_key", KEY, nullable=False),
        sa.Column("target_key", KEY, nullable=False),
        sa.Column("toolchain_key", KEY, nullable=False),
        sa.Column("trial_id", SERIAL, nullable=False),
        sa.Column("measurement_id", SERIAL, nullable=False),
        sa.Column("space_version", KEY, nullable=False),
        sa.Column("source_digest", KEY, nullable=False),
        sa.Column("default_seconds", sa.Double(), nullable=False),
        sa.Column("measured_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["measurement_id"], ["measurements.id"], name="fk_best_measurement_id"
        ),
        sa.ForeignKeyConstraint(["target_key"], ["targets.key"], name="fk_best_target_key"),
        sa.ForeignKeyConstraint(
            ["toolchain_key"], ["toolchains.key"], name="fk_best_toolchain_key"
        ),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name="fk_best_trial_id"),
        sa.ForeignKeyConstraint(["workload_key"], ["workloads.key"], name="fk_best_workload_key"),
        sa.PrimaryKeyConstraint("workload_key", "target_key", "toolchain_key", name="pk_best"),
    )
    op.create_index("ix_best_trial_id", "best", ["trial_id"])
