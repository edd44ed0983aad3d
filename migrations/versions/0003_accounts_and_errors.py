"""Why a job failed, what was forgotten of its account, and workers that cannot be used.

From 0002 to 0003. Jobs that ended learn their errors from their last events. What was pruned before is not counted.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

STATES = ("active", "draining", "quarantined", "gone")
STATES_BEFORE = ("active", "draining", "gone")


def upgrade() -> None:
    op.add_column("jobs", sa.Column("error", sa.Text(), server_default="", nullable=False))
    op.add_column(
        "tasks",
        sa.Column("forgotten", sa.JSON(), server_default=sa.text("'{}'"), nullable=False),
    )
    copy_errors()
    allow_states(STATES)


def downgrade() -> None:
    op.execute("update workers set state = 'draining' where state = 'quarantined'")
    allow_states(STATES_BEFORE)
    op.drop_column("tasks", "forgotten")
    op.drop_column("jobs", "error")


def copy_errors() -> None:
    """Of the last end of each job that has ended."""
    ends = sa.table(
        "job_events",
        *(sa.column(name) for name in ("job_id", "number", "type")),
        sa.column("data", sa.JSON()),
    )
    jobs = sa.table("jobs", *(sa.column(name) for name in ("id", "ended_at", "error")))
    wanted = (
        sa.select(ends.c.job_id, ends.c.data)
        .join(jobs, jobs.c.id == ends.c.job_id)
        .where(ends.c.type == "end", jobs.c.ended_at.is_not(None))
        .order_by(ends.c.job_id, ends.c.number)
    )
    connection = op.get_bind()
    errors = {job: data.get("error") for job, data in connection.execute(wanted)}
    for job, error in errors.items():
        if error:
            text = error.replace("\0", "\ufffd")
            connection.execute(sa.update(jobs).where(jobs.c.id == job).values(error=text))


def allow_states(states: tuple[str, ...]) -> None:
    """SQLite changes no constraint: there the table is made anew."""
    condition = f"state in ({', '.join(repr(state) for state in states)})"
    with op.batch_alter_table("workers") as workers:
        workers.drop_constraint("ck_workers_state", type_="check")
        workers.create_check_constraint("ck_workers_state", condition)
