"""The calls of the service, each a request and the document that answers it. A table in all but form: one row a route.

Arguments are checked as far as the address depends on them; every other rule is the service's to hold and to explain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from autosched.client.exchange import Call
from autosched.client.steps import Request
from autosched.errors import InvalidInput
from autosched.wire.best import BestDocument, BestDocuments
from autosched.wire.info import HealthDocument, InfoDocument, OperatorsDocument
from autosched.wire.job import JobDocument
from autosched.wire.key import KEY_PATTERN
from autosched.wire.machine import TargetDocument, WorkerDocument
from autosched.wire.page import PageDocument
from autosched.wire.trial import TrialDetail, TrialDocument
from autosched.wire.workload import StoredWorkload

Document = TypeVar("Document", bound=BaseModel)


def segment(text: str, noun: str = "job") -> str:
    """An id or a key as a piece of a path; InvalidInput if it can be none."""
    if not re.fullmatch(KEY_PATTERN, text) or not text.strip("."):
        raise InvalidInput(
            f"{noun} {text!r}: an id is 1 to 80 letters, digits, '.', '_', '~' and '-'"
        )
    return quote(text)


def _get(
    path: str, model: type[Document], query: Mapping[str, object] | None = None
) -> Call[Document]:
    return Call(Request("GET", path, _query(query or {})), _reader(model))


def _reader(model: type[Document]) -> Callable[[Any], Document]:
    return model.model_validate


def _query(wanted: Mapping[str, object]) -> dict[str, str]:
    """What is None is not asked. InvalidInput: a text with bytes that are none of any character."""
    given = {name: str(value) for name, value in wanted.items() if value is not None}
    for name, value in given.items():
        if not value.isprintable():  # lone surrogates, which stand for stray bytes, are not
            raise InvalidInput(f"{name} {value!r}: must be printable text")
    return given


def given(**fields: object) -> dict[str, object]:
    """The fields of a body that are not None: what is left out has the service's default."""
    return {name: value for name, value in fields.items() if value is not None}


def info() -> Call[InfoDocument]:
    """Versions and limits of the service."""
    return _get("v1/info", InfoDocument)


def health() -> Call[HealthDocument]:
    """Whether the service can do its work; ServiceError (503) says what it lacks."""
    return _get("readyz", HealthDocument)


def job(job_id: str) -> Call[JobDocument]:
    """One job with its failures. NotThere: none, or another owner's."""
    return _get(f"v1/jobs/{segment(job_id)}", JobDocument)


def jobs(
    *,
    state: str | None = None,
    label: str | None = None,
    owner: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[PageDocument[JobDocument]]:
    """Newest first. `label` is "NAME:VALUE"; `owner` is an admin's to ask; `cursor` is a page's `next`."""
    query = {"state": state, "label": label, "owner": owner, "limit": limit, "cursor": cursor}
    return _get("v1/jobs", PageDocument[JobDocument], query)


def cancel(job_id: str) -> Call[JobDocument]:
    """Ends a job, or asks its dispatcher to; again changes nothing. ServiceError (409): it has ended otherwise."""
    return Call(Request("POST", f"v1/jobs/{segment(job_id)}/cancel"), _reader(JobDocument))


def resume(
    job_id: str, *, trials: int | None = None, seconds: float | None = None
) -> Call[JobDocument]:
    """Back into the queue, with new totals where given. ServiceError (409): neither failed nor cancelled.

    Not repeated once it may have arrived: the second time is a conflict with the first.
    """
    request = Request(
        "POST",
        f"v1/jobs/{segment(job_id)}/resume",
        body=given(trials=trials, seconds=seconds),
        is_repeatable=False,
    )
    return Call(request, _reader(JobDocument))


def trials(
    job_id: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[PageDocument[TrialDocument]]:
    """A job's trials by task and number."""
    query = {"limit": limit, "cursor": cursor}
    return _get(f"v1/jobs/{segment(job_id)}/trials", PageDocument[TrialDocument], query)


def trial(trial_id: str) -> Call[TrialDetail]:
    """A trial with everything that is needed to build and run it elsewhere."""
    return _get(f"v1/trials/{segment(trial_id, 'trial')}", TrialDetail)


def best(
    workload: str,
    target: str | None = None,
    toolchain: str | None = None,
    *,
    threads: int | None = None,
) -> Call[BestDocument]:
    """The best known configuration of a workload by its key; `target` is a key or a name, the only one if none is
    given. `toolchain` is a key; any will do if none is given."""
    query = {"workload": workload, "target": target, "toolchain": toolchain, "threads": threads}
    return _get("v1/best", BestDocument, query)


def best_many(
    workloads: Sequence[str] | None = None,
    *,
    texts: Sequence[str] | None = None,
    source: str | None = None,
    graph: Mapping[str, Any] | None = None,
    target: str | None = None,
    threads: int | None = None,
    toolchain: str | None = None,
) -> Call[BestDocuments]:
    """One answer a task, in order, of one of: workloads by key, a source of the service's tables, a graph document.
    `texts`, the canonical texts of the workloads, let those that were never tuned find winners of near shapes."""
    body = given(
        workloads=None if workloads is None else list(workloads),
        texts=None if texts is None else list(texts),
        source=source,
        graph=graph,
        target=target,
        threads=threads,
        toolchain=toolchain,
    )
    return Call(Request("POST", "v1/best", body=body), _reader(BestDocuments))


def targets() -> Call[PageDocument[TargetDocument]]:
    """The targets that workers have or had."""
    return _get("v1/targets", PageDocument[TargetDocument])


def workers() -> Call[PageDocument[WorkerDocument]]:
    """Who measures, latest first."""
    return _get("v1/workers", PageDocument[WorkerDocument])


def workload(key: str) -> Call[StoredWorkload]:
    """A stored workload and its winners."""
    return _get(f"v1/workloads/{segment(key, 'workload')}", StoredWorkload)


def ops() -> Call[OperatorsDocument]:
    """The operators that a graph may hold."""
    return _get("v1/ops", OperatorsDocument)
