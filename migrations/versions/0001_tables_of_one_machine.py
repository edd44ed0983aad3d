"""Tables of one machine

From an empty database to 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "calibrations",
        sa.Column("target_key", sa.String(length=80), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("target_key", "name", name=op.f("pk_calibrations")),
    )
    op.create_table(
        "targets",
        sa.Column("key", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("isa", sa.String(length=80), nullable=False),
        sa.Column("core_kind", sa.String(length=80), nullable=False),
        sa.Column("threads", sa.Integer(), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_targets")),
    )
    op.create_index(op.f("ix_targets_isa"), "targets", ["isa"], unique=False)
    op.create_table(
        "toolchains",
        sa.Column("key", sa.String(length=80), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_toolchains")),
    )
    op.create_table(
        "workloads",
        sa.Column("key", sa.String(length=80), nullable=False),
        sa.Column("family_key", sa.String(length=80), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_workloads")),
    )
    op.create_index(op.f("ix_workloads_family_key"), "workloads", ["family_key"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("spec_key", sa.String(length=80), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("source_key", sa.String(length=80), nullable=False),
        sa.Column("target_key", sa.String(length=80), nullable=False),
        sa.Column("toolchain_key", sa.String(length=80), nullable=False),
        sa.Column("threads", sa.Integer(), nullable=False),
        sa.Column("seed", sa.String(length=80), nullable=False),
        sa.Column("trials", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("end_reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state in ('queued', 'running', 'succeeded', 'failed', 'cancelled')",
            name=op.f("ck_jobs_state"),
        ),
        sa.ForeignKeyConstraint(["target_key"], ["targets.key"], name=op.f("fk_jobs_target_key")),
        sa.ForeignKeyConstraint(
            ["toolchain_key"], ["toolchains.key"], name=op.f("fk_jobs_toolchain_key")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_created_at"), "jobs", ["created_at"], unique=False)
    op.create_index(
        "uq_jobs_unfinished",
        "jobs",
        ["spec_key"],
        unique=True,
        sqlite_where=sa.text("ended_at is null"),
        postgresql_where=sa.text("ended_at is null"),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("job_id", sa.String(length=80), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("workload_key", sa.String(length=80), nullable=False),
        sa.Column("target_key", sa.String(length=80), nullable=False),
        sa.Column("toolchain_key", sa.String(length=80), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_tasks_job_id")),
        sa.ForeignKeyConstraint(["target_key"], ["targets.key"], name=op.f("fk_tasks_target_key")),
        sa.ForeignKeyConstraint(
            ["toolchain_key"], ["toolchains.key"], name=op.f("fk_tasks_toolchain_key")
        ),
        sa.ForeignKeyConstraint(
            ["workload_key"], ["workloads.key"], name=op.f("fk_tasks_workload_key")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
        sa.UniqueConstraint("job_id", "position", name=op.f("uq_tasks_job_id_position")),
    )
    op.create_table(
        "trials",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("task_id", sa.String(length=80), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("workload_key", sa.String(length=80), nullable=False),
        sa.Column("target_key", sa.String(length=80), nullable=False),
        sa.Column("toolchain_key", sa.String(length=80), nullable=False),
        sa.Column("candidate_key", sa.String(length=80), nullable=False),
        sa.Column("structure_key", sa.String(length=80), nullable=False),
        sa.Column("derivation", sa.JSON(), nullable=False),
        sa.Column("values", sa.JSON(), nullable=False),
        sa.Column("space_version", sa.String(length=80), nullable=False),
        sa.Column("features", sa.LargeBinary(), nullable=False),
        sa.Column("features_schema", sa.String(length=80), nullable=False),
        sa.Column("outcome", sa.String(length=20), nullable=True),
        sa.Column("median_seconds", sa.Double(), nullable=True),
        sa.Column("reused_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("proposed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "outcome in ('ok', 'pruned', 'compile_error', 'compile_deadline', 'run_deadline', 'crashed', 'wrong_result', 'out_of_memory', 'unstable', 'lost')",
            name=op.f("ck_trials_outcome"),
        ),
        sa.CheckConstraint("number >= 0 and attempt >= 1", name=op.f("ck_trials_number")),
        sa.ForeignKeyConstraint(["reused_id"], ["trials.id"], name=op.f("fk_trials_reused_id")),
        sa.ForeignKeyConstraint(["target_key"], ["targets.key"], name=op.f("fk_trials_target_key")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_trials_task_id")),
        sa.ForeignKeyConstraint(
            ["toolchain_key"], ["toolchains.key"], name=op.f("fk_trials_toolchain_key")
        ),
        sa.ForeignKeyConstraint(
            ["workload_key"], ["workloads.key"], name=op.f("fk_trials_workload_key")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trials")),
        sa.UniqueConstraint(
            "task_id", "candidate_key", name=op.f("uq_trials_task_id_candidate_key")
        ),
        sa.UniqueConstraint("task_id", "number", name=op.f("uq_trials_task_id_number")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_trials_candidate_key"), "trials", ["candidate_key"], unique=False)
    op.create_index(op.f("ix_trials_reused_id"), "trials", ["reused_id"], unique=False)
    op.create_index(op.f("ix_trials_target_key_id"), "trials", ["target_key", "id"], unique=False)
    op.create_index(
        op.f("ix_trials_workload_key_id"), "trials", ["workload_key", "id"], unique=False
    )
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
    op.create_table(
        "job_history",
        sa.Column("job_id", sa.String(length=80), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("trial_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_history_job_id")),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name=op.f("fk_job_history_trial_id")),
        sa.PrimaryKeyConstraint("job_id", "position", name=op.f("pk_job_history")),
    )
    op.create_index(op.f("ix_job_history_trial_id"), "job_history", ["trial_id"], unique=False)
    op.create_table(
        "measurements",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("trial_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("purpose", sa.String(length=20), nullable=False),
        sa.Column("side_by_side", sa.String(length=80), nullable=True),
        sa.Column("outcome", sa.String(length=20), nullable=False),
        sa.Column("median_seconds", sa.Double(), nullable=True),
        sa.Column("spread_seconds", sa.Double(), nullable=True),
        sa.Column("n_samples", sa.Integer(), nullable=True),
        sa.Column("contended_share", sa.Double(), nullable=True),
        sa.Column("threads", sa.Integer(), nullable=True),
        sa.Column("mode", sa.String(length=20), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("log", sa.Text(), nullable=False),
        sa.Column("build_seconds", sa.Double(), nullable=False),
        sa.Column("run_seconds", sa.Double(), nullable=False),
        sa.Column("source_digest", sa.String(length=80), nullable=False),
        sa.Column("max_error", sa.Double(), nullable=True),
        sa.Column("early_stopped", sa.Boolean(), nullable=False),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.Column("measured_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "outcome <> 'ok' or (median_seconds is not null and median_seconds > 0)",
            name=op.f("ck_measurements_timing"),
        ),
        sa.CheckConstraint(
            "outcome in ('ok', 'pruned', 'compile_error', 'compile_deadline', 'run_deadline', 'crashed', 'wrong_result', 'out_of_memory', 'unstable', 'lost')",
            name=op.f("ck_measurements_outcome"),
        ),
        sa.CheckConstraint(
            "purpose in ('search', 'confirm', 'replay')", name=op.f("ck_measurements_purpose")
        ),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name=op.f("fk_measurements_trial_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_measurements")),
        sa.UniqueConstraint(
            "trial_id", "side_by_side", name=op.f("uq_measurements_trial_id_side_by_side")
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
    op.create_table(
        "best",
        sa.Column("workload_key", sa.String(length=80), nullable=False),
        sa.Column("target_key", sa.String(length=80), nullable=False),
        sa.Column("toolchain_key", sa.String(length=80), nullable=False),
        sa.Column("trial_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "measurement_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False
        ),
        sa.Column("space_version", sa.String(length=80), nullable=False),
        sa.Column("source_digest", sa.String(length=80), nullable=False),
        sa.Column("default_seconds", sa.Double(), nullable=False),
        sa.Column("measured_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["measurement_id"], ["measurements.id"], name=op.f("fk_best_measurement_id")
        ),
        sa.ForeignKeyConstraint(["target_key"], ["targets.key"], name=op.f("fk_best_target_key")),
        sa.ForeignKeyConstraint(
            ["toolchain_key"], ["toolchains.key"], name=op.f("fk_best_toolchain_key")
        ),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name=op.f("fk_best_trial_id")),
        sa.ForeignKeyConstraint(
            ["workload_key"], ["workloads.key"], name=op.f("fk_best_workload_key")
        ),
        sa.PrimaryKeyConstraint(
            "workload_key", "target_key", "toolchain_key", name=op.f("pk_best")
        ),
    )
    op.create_index(op.f("ix_best_trial_id"), "best", ["trial_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_best_trial_id"), table_name="best")
    op.drop_table("best")
    op.drop_index(
        "uq_measurements_search_run",
        table_name="measurements",
        sqlite_where=sa.text("purpose = 'search'"),
        postgresql_where=sa.text("purpose = 'search'"),
    )
    op.drop_table("measurements")
    op.drop_index(op.f("ix_job_history_trial_id"), table_name="job_history")
    op.drop_table("job_history")
    op.drop_index(
        "uq_trials_measured_once",
        table_name="trials",
        sqlite_where=sa.text(
            "number > 0 and reused_id is null and outcome not in ('pruned', 'lost', 'unstable')"
        ),
        postgresql_where=sa.text(
            "number > 0 and reused_id is null and outcome not in ('pruned', 'lost', 'unstable')"
        ),
    )
    op.drop_index(op.f("ix_trials_workload_key_id"), table_name="trials")
    op.drop_index(op.f("ix_trials_target_key_id"), table_name="trials")
    op.drop_index(op.f("ix_trials_reused_id"), table_name="trials")
    op.drop_index(op.f("ix_trials_candidate_key"), table_name="trials")
    op.drop_table("trials")
    op.drop_table("tasks")
    op.drop_index(
        "uq_jobs_unfinished",
        table_name="jobs",
        sqlite_where=sa.text("ended_at is null"),
        postgresql_where=sa.text("ended_at is null"),
    )
    op.drop_index(op.f("ix_jobs_created_at"), table_name="jobs")
    op.drop_table("jobs")
    op.drop_index(op.f("ix_workloads_family_key"), table_name="workloads")
    op.drop_table("workloads")
    op.drop_table("toolchains")
    op.drop_index(op.f("ix_targets_isa"), table_name="targets")
    op.drop_table("targets")
    op.drop_table("calibrations")
