"""From a request to a job: the target, the model as tasks, and what the database keeps of both."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from starlette.requests import Request

from autosched.jobs.record import Submission, Submitted
from autosched.wire.submission import JobRequest
from autosched_api.bodies import canonical, media_type, parse_large, read_form
from autosched_api.importing import Imported, ToImport
from autosched_api.models import model_of
from autosched_api.problems import Problem, refused_field
from autosched_api.resolve import Place, resolve_place
from autosched_api.service import Service, Store
from autosched_api.uploads import received

CLAIM_SECONDS = 30.0


@dataclass(frozen=True)
class Wanted:
    """What an owner asks: the form, the model to read, and the digest of both."""

    owner: str
    form: JobRequest
    model: ToImport
    digest: str
    upload_bytes: int = 0


@asynccontextmanager
async def wanted_job(request: Request, service: Service, owner: str) -> AsyncIterator[Wanted]:
    """The request's content; an uploaded model is there for as long as the block runs."""
    kind = media_type(request)
    if kind == "multipart/form-data":
        async with received(request, service, owner) as upload:
            form = await parse_large(upload.request, JobRequest)
            if form.source is not None or form.graph is not None:
                raise refused_field("/source", "excluded", form.source, "the model is uploaded")
            model = ToImport("onnx", file=upload.file.fileno())
            yield Wanted(owner, form, model, _digest(form, upload.digest), upload.n_bytes)
    elif kind == "application/json":
        form = await read_form(request, JobRequest, service.settings)
        with model_of(form.source, form.graph) as model:
            yield Wanted(owner, form, model, _digest(form, ""))
    else:
        raise Problem("unsupported-media-type", "send application/json or multipart/form-data")


def _digest(form: JobRequest, model: str) -> str:
    return hashlib.sha256(canonical(form) + b"\n" + model.encode()).hexdigest()


async def submit(
    service: Service, wanted: Wanted, idempotency_key: str | None
) -> tuple[Submitted, bool]:
    """The job, and whether it is new. Problem: whatever is wrong with it; nothing is stored then."""
    workers = await service.known_workers()
    place = resolve_place(workers, wanted.form.target, wanted.form.threads)
    model = replace(wanted.model, task_bytes=service.settings.task_bytes)
    imported = await service.importer.read(model)
    submission = replace(
        _submission(wanted, place, imported),
        queue_seconds=wanted.form.queue_seconds or service.settings.queue_seconds,
        idempotency_key=idempotency_key,
    )

    def insert(store: Store) -> tuple[Submitted, bool]:
        submitted, is_new = store.submit(submission, service.settings.quota)
        if is_new and not imported.tasks:
            submitted = _end_empty(store, submitted)
        return submitted, is_new

    return await service.run(insert)


def _submission(wanted: Wanted, place: Place, imported: Imported) -> Submission:
    form = wanted.form
    return Submission(
        owner=wanted.owner,
        source=imported.name,
        source_key=imported.key,
        tasks=imported.tasks,
        target_key=place.target.key,
        target=place.fields,
        toolchain_key=place.toolchain_key,
        toolchain=dict(place.toolchain),
        threads=place.target.threads,
        trials=form.trials,
        seed=form.seed,
        seconds=form.seconds,
        policy=form.policy,
        priority=form.priority,
        labels=dict(form.labels),
        body_digest=wanted.digest,
        upload_bytes=wanted.upload_bytes,
    )


def _end_empty(store: Store, submitted: Submitted) -> Submitted:
    """Ends a job whose tensors are all of size 0: its answer is known without tuning. A dispatcher that claims it first
    finds the same."""
    claim = store.claim(f"api-{submitted.id}", submitted.id, lease_seconds=CLAIM_SECONDS)
    if claim is not None:
        store.end_claimed(submitted.id, claim.fence, "succeeded", "exhausted")
    return store.submitted(submitted.id) or submitted
