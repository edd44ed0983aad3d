"""What went wrong, for programs and people: problem details (RFC 9457), each of one type of this table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict

from autosched.wire.key import words

MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:autosched:problem:"
NO_SUCH_PATH = "nothing is served at this path; /v1/openapi.json says what is"
"""The detail of a `not-found` that speaks of the address, not of a thing."""


@dataclass(frozen=True)
class ProblemType:
    """One row: the HTTP status, a title, and whether asking again later may help."""

    status: int
    title: str
    retry: bool = False


PROBLEMS: Mapping[str, ProblemType] = {
    "bad-request": ProblemType(400, "The request cannot be read"),
    "bad-cursor": ProblemType(400, "The cursor is none of this list"),
    "unauthenticated": ProblemType(401, "A valid token is needed"),
    "forbidden": ProblemType(403, "The token does not allow this"),
    "foreign-origin": ProblemType(403, "Requests from pages of another origin are refused"),
    "not-found": ProblemType(404, "There is no such thing"),
    "method-not-allowed": ProblemType(405, "The resource does not take this method"),
    "wrong-state": ProblemType(409, "The job's state does not allow this"),
    "idempotency-key-reused": ProblemType(409, "The idempotency key stands for another request"),
    "too-slow": ProblemType(408, "The request took too long to come", retry=True),
    "too-large": ProblemType(413, "The request is too large"),
    "unsupported-media-type": ProblemType(415, "The media type is not understood"),
    "foreign-host": ProblemType(421, "This host name is not served here"),
    "invalid-input": ProblemType(422, "The input breaks a rule"),
    "import-limit": ProblemType(422, "Reading the model took more than is allowed"),
    "import-failed": ProblemType(
        422, "The model could not be read, which is a fault of the service"
    ),
    "no-such-target": ProblemType(422, "No worker ever had this target"),
    "head-too-large": ProblemType(431, "The request's headers are too large"),
    "quota-exceeded": ProblemType(429, "The owner's share is used up", retry=True),
    "busy": ProblemType(503, "The service has its hands full", retry=True),
    "internal": ProblemType(500, "A fault of the service"),
    "unavailable": ProblemType(503, "The service cannot answer now", retry=True),
}
"""Name -> type. Statuses repeat; names never change within `/v1`."""

TypeWord = Annotated[str, words([PREFIX + name for name in PROBLEMS])]


class FieldError(BaseModel):
    """One broken rule: `pointer` (RFC 6901) into the body, or `query`, `path` or `header` with the name after it; the
    `rule`'s name, the `value` that breaks it, and a sentence for a person."""

    pointer: str
    rule: str
    value: Any = None
    message: str


class ProblemDocument(BaseModel):
    """The body of every answer that is an error. `request_id` finds it in the logs."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": f"{PREFIX}invalid-input",
                    "title": "The input breaks a rule",
                    "status": 422,
                    "detail": "trials is 0: must be at least 1",
                    "errors": [
                        {
                            "pointer": "/trials",
                            "rule": "greater_than_equal",
                            "value": 0,
                            "message": "must be at least 1",
                        }
                    ],
                    "request_id": "r-7f3a5c0d9e1b",
                }
            ]
        }
    )

    type: TypeWord
    title: str
    status: int
    detail: str = ""
    errors: list[FieldError] = []
    request_id: str | None = None


def problem_document(
    name: str, detail: str = "", errors: list[FieldError] | None = None, request_id: str = ""
) -> ProblemDocument:
    """The document of a problem of the table."""
    kind = PROBLEMS[name]
    return ProblemDocument(
        type=PREFIX + name,
        title=kind.title,
        status=kind.status,
        detail=detail,
        errors=errors or [],
        request_id=request_id or None,
    )
