"""Everything that goes wrong, as one kind of answer: problem details of the table in `autosched.wire.problem`.

The framework's own errors are put into the same form, so that a client reads one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from autosched.errors import InvalidInput, StoreError
from autosched.jobs.queue import KeyReused, QuotaExceeded, WrongState
from autosched.wire.problem import MEDIA_TYPE, NO_SUCH_PATH, PROBLEMS, FieldError, problem_document

RETRY_SECONDS = 1
SHOWN_ERRORS = 20
SHOWN_CHARACTERS = 200


class Problem(HTTPException):
    """A problem of the table, raised by whoever meets it. It is an HTTPException so that the framework lets it pass."""

    def __init__(
        self,
        name: str,
        detail: str = "",
        *,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        retry_seconds: int = RETRY_SECONDS,
    ) -> None:
        kind = PROBLEMS[name]
        found = dict(headers or {})
        if kind.retry:
            found.setdefault("Retry-After", str(retry_seconds))
        super().__init__(kind.status, detail, found)
        self.name = name
        self.errors = list(errors)


def problem_response(problem: Problem, request_id: str = "") -> Response:
    """The answer that tells of a problem."""
    document = problem_document(problem.name, problem.detail, problem.errors, request_id)
    body = document.model_dump_json(exclude_none=True).encode()
    return Response(body, problem.status_code, problem.headers, media_type=MEDIA_TYPE)


OF_STATUS: Mapping[int, str] = {
    400: "bad-request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    413: "too-large",
    415: "unsupported-media-type",
    422: "invalid-input",
    429: "quota-exceeded",
    503: "unavailable",
}
"""Status of an error that the framework raises -> its problem."""


def problem_of(error: Exception) -> Problem:
    """What an exception means to a client; a fault of ours says nothing of itself."""
    match error:
        case Problem():
            return error
        case RequestValidationError():
            return refused_parameters(error.errors())
        case HTTPException():
            name = OF_STATUS.get(error.status_code, "bad-request")
            # The framework's own words; they name no path of ours, since none of its files is served.
            detail = NO_SUCH_PATH if name == "not-found" else error.detail
            return Problem(name, detail, headers=error.headers)
        case KeyReused():
            return Problem("idempotency-key-reused", str(error))
        case WrongState():
            return Problem("wrong-state", str(error))
        case QuotaExceeded():
            return Problem("quota-exceeded", str(error), retry_seconds=10)
        case StoreError():
            return Problem("unavailable", "the database cannot answer now; ask again")
        case InvalidInput():
            return Problem("invalid-input", str(error))
    return Problem("internal", "a fault of the service; its log has it under the request id")


def refused_body(error: ValidationError) -> Problem:
    """A JSON body that breaks rules of its form: 400 where it is no JSON, else 422 with every rule."""
    found = error.errors(include_url=False, include_context=False)
    if found and found[0]["type"] == "json_invalid" and "recursion limit" in found[0]["msg"]:
        return refused_field("", "nesting", None, "the body is nested too deeply")
    if found and found[0]["type"] == "json_invalid":
        return Problem("bad-request", f"the body is not JSON: {found[0]['msg']}")
    return _refused([_field_error("", e["loc"], e) for e in found[:SHOWN_ERRORS]])


def refused_parameters(found: Iterable[Any]) -> Problem:
    """Parameters of path, query or header that break rules."""
    return _refused([_field_error(str(e["loc"][0]), e["loc"][1:], e) for e in found])


def refused_field(pointer: str, rule: str, value: Any, message: str) -> Problem:
    """One broken rule that no form says."""
    return _refused([FieldError(pointer=pointer, rule=rule, value=_shown(value), message=message)])


def _refused(errors: list[FieldError]) -> Problem:
    first = errors[0] if errors else None
    detail = "" if first is None else f"{first.pointer or 'the body'}: {first.message}"
    return Problem("invalid-input", detail, errors=errors)


def _field_error(origin: str, loc: Sequence[Any], error: Mapping[str, Any]) -> FieldError:
    pointer = "".join(f"/{_escaped(part)}" for part in loc)
    message = str(error["msg"]).removeprefix("Value error, ")
    return FieldError(
        pointer=f"{origin}{pointer}",
        rule=str(error["type"]),
        value=_shown(error.get("input")),
        message=message,
    )


def _escaped(part: Any) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")


def _shown(value: Any) -> Any:
    """The value as JSON, cut short."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(repr(value)[: 2 * SHOWN_CHARACTERS])
    if len(text) <= SHOWN_CHARACTERS:
        return json.loads(text)
    return f"{text[:SHOWN_CHARACTERS]}..."


async def answer_problem(request: Request, error: Exception) -> Response:
    """The framework's handler of every error that is somebody's."""
    problem = problem_of(error)
    if problem.status_code == 405:
        allowed = allowed_methods(request)
        if allowed:
            problem.headers = {"Allow": ", ".join(allowed)}
    return problem_response(problem, request.scope.get("request_id", ""))


def allowed_methods(request: Request) -> list[str]:
    """Every method of the path by the document; the framework names those of one route alone."""
    for template, operations in request.app.openapi()["paths"].items():
        if compile_path(template)[0].match(request.url.path):
            return sorted(method.upper() for method in operations)
    return []


HANDLED: tuple[type[Exception], ...] = (
    HTTPException,
    RequestValidationError,
    StoreError,
    InvalidInput,
    KeyReused,
    WrongState,
    QuotaExceeded,
)
"""All others are faults of ours, which are answered as such and go on to the layer that logs them."""


def install_handlers(app: FastAPI) -> None:
    for kind in (*HANDLED, Exception):
        app.add_exception_handler(kind, answer_problem)
