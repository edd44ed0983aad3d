"""What OpenAPI says of answers and bodies that the framework does not read by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from autosched.wire.problem import MEDIA_TYPE, PROBLEMS

Responses = dict[int | str, dict[str, Any]]

ALWAYS = (
    "bad-request",
    "unauthenticated",
    "forbidden",
    "too-slow",
    "foreign-host",
    "head-too-large",
    "internal",
    "unavailable",
)
"""Problems that any route of `/v1` may answer with: its connection, the layers in front of it, its token, its database."""

PROBLEM_SCHEMA = {"$ref": "#/components/schemas/ProblemDocument"}


def problems(*names: str, always: Iterable[str] = ALWAYS) -> Responses:
    """The answers of a route that are problems, by status; one status names all its types."""
    by_status: dict[int, list[str]] = {}
    for name in dict.fromkeys((*always, *names, "invalid-input")):
        by_status.setdefault(PROBLEMS[name].status, []).append(name)
    return {
        status: {
            "description": "; ".join(f"`{n}`: {PROBLEMS[n].title}" for n in found),
            "content": {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA}},
        }
        for status, found in sorted(by_status.items())
    }


def json_body(form: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """The `openapi_extra` of a route that reads a JSON body by itself."""
    return {"requestBody": {"required": required, "content": {"application/json": _media(form)}}}


def job_body(form: type[BaseModel]) -> dict[str, Any]:
    """The two ways to submit a job."""
    multipart = {
        "schema": {
            "type": "object",
            "properties": {
                "model": {
                    "type": "string",
                    "format": "binary",
                    "minLength": 1,
                    "description": "an ONNX file",
                },
                "request": reference(form),
            },
            "required": ["model", "request"],
            "additionalProperties": False,
        },
        "encoding": {"request": {"contentType": "application/json"}},
    }
    content = {"application/json": _media(form), "multipart/form-data": multipart}
    return {"requestBody": {"required": True, "content": content}}


def _media(form: type[BaseModel]) -> dict[str, Any]:
    return {"schema": reference(form)}


def reference(form: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{form.__name__}"}


def with_schemas(document: dict[str, Any], forms: Iterable[type[BaseModel]]) -> dict[str, Any]:
    """The OpenAPI document with the schemas of forms that it refers to and does not hold."""
    schemas: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    for form in forms:
        schema = form.model_json_schema(ref_template="#/components/schemas/{model}")
        for name, inner in schema.pop("$defs", {}).items():
            schemas.setdefault(name, inner)
        schemas.setdefault(form.__name__, schema)
    return document


SCHEME: Mapping[str, Any] = {
    "type": "http",
    "scheme": "bearer",
    "description": "`ast_...`, made by `autosched token create`; none is needed on loopback.",
}

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Routes that ask nobody who they are."""


def with_security(document: dict[str, Any]) -> dict[str, Any]:
    """The document with a token at every route that takes one; the empty alternative is loopback's."""
    document["components"].setdefault("securitySchemes", {})["token"] = dict(SCHEME)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if path not in OPEN_PATHS:
                operation["security"] = [{"token": []}, {}]
    return document
