"""Submissions in SQL: one job a request, within its owner's quota. Submissions of one owner go one after another."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import BigInteger, Connection, cast, func, select, update

from autosched.db.events import append_state
from autosched.db.jobs import Opening, insert_job, spec_of
from autosched.db.moves import queued_until
from autosched.db.schema import JobRow
from autosched.db.submitted import load_submitted
from autosched.jobs.queue import IDEMPOTENCY_DAYS, KeyReused, Quota, QuotaExceeded
from autosched.jobs.record import Submission, Submitted
from autosched.plain import check_plain
from autosched.records.identity import new_job_id


def submit(connection: Connection, submission: Submission, quota: Quota) -> tuple[Submitted, bool]:
    """The job, and whether it is new. InvalidInput names what is no plain text."""
    _check_texts(submission)
    _lock_owner(connection, submission.owner)
    job_id = _same_request(connection, submission)
    is_new = job_id is None
    if job_id is None:
        _check_quota(connection, submission, quota)
        job_id = _insert(connection, submission)
    found = load_submitted(connection, job_id)
    assert found is not None
    return found, is_new


def _check_texts(submission: Submission) -> None:
    check_plain("owner", submission.owner)
    check_plain("source", submission.source)
    check_plain("idempotency key", submission.idempotency_key or "")
    for task in submission.tasks:
        check_plain("task", task.name)
    for name, value in submission.labels.items():
        check_plain("label", name)
        check_plain(f"label {name!r}", value)


def _lock_owner(connection: Connection, owner: str) -> None:
    """Until the transaction ends; SQLite has one writer at a time anyway."""
    if connection.dialect.name == "postgresql":
        number = func.hashtextextended(owner, cast(0, BigInteger))
        connection.execute(select(func.pg_advisory_xact_lock(number)))


def _same_request(connection: Connection, submission: Submission) -> str | None:
    """The job that stands for the submission's idempotency key; a key of old stands for nothing any more."""
    if submission.idempotency_key is None:
        return None
    keyed = (
        (JobRow.owner == submission.owner)
        & JobRow.idempotency_key.is_not(None)
        & (JobRow.idempotency_key == submission.idempotency_key)
    )
    wanted = select(JobRow.id, JobRow.body_digest, JobRow.created_at).where(keyed)
    job = connection.execute(wanted).first()
    if job is None:
        return None
    if job.created_at < datetime.now(UTC) - timedelta(days=IDEMPOTENCY_DAYS):
        connection.execute(update(JobRow).where(keyed).values(idempotency_key=None))
        return None
    if job.body_digest != submission.body_digest:
        raise KeyReused(
            f"idempotency key {submission.idempotency_key!r} stands for another request, job {job.id}"
        )
    return str(job.id)


def _check_quota(connection: Connection, submission: Submission, quota: Quota) -> None:
    under_way = select(func.count(), func.coalesce(func.sum(JobRow.upload_bytes), 0)).where(
        JobRow.owner == submission.owner, JobRow.ended_at.is_(None)
    )
    jobs, upload_bytes = connection.execute(under_way).one()
    if jobs >= quota.jobs:
        raise QuotaExceeded(
            f"{submission.owner} has {jobs} jobs under way, of {quota.jobs} at most"
        )
    total = int(upload_bytes) + submission.upload_bytes
    if submission.upload_bytes and total > quota.upload_bytes:
        raise QuotaExceeded(
            f"{submission.owner} would have {total} bytes uploaded for jobs under way, of "
            f"{quota.upload_bytes} at most"
        )


def _insert(connection: Connection, submission: Submission) -> str:
    job_id = new_job_id()
    opening = Opening(
        spec_of(submission), submission.tasks, submission.target, submission.toolchain, ()
    )
    columns = {
        "id": job_id,
        "spec_key": job_id,
        "state": "queued",
        "owner": submission.owner,
        "priority": submission.priority,
        "labels": dict(submission.labels),
        "seconds": submission.seconds,
        "policy": submission.policy,
        "queue_seconds": submission.queue_seconds,
        "queued_until": queued_until(connection, submission.queue_seconds),
        "idempotency_key": submission.idempotency_key,
        "body_digest": submission.body_digest,
        "upload_bytes": submission.upload_bytes,
    }
    insert_job(connection, opening, columns)
    append_state(connection, job_id, "queued")
    return job_id
