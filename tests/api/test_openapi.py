"""The OpenAPI document: stored, complete, and never changed in a way that breaks a client."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autosched.wire.problem import PROBLEMS
from tests.api.compatibility import breaking_changes
from tests.api.conftest import Api

STORED = Path(__file__).resolve().parents[2] / "api" / "openapi.json"

Document = dict[str, Any]


@pytest.fixture(scope="module")
def document(api: Api) -> Document:
    found: Document = json.loads(json.dumps(api.app.openapi()))
    return found


def stored() -> Document:
    found: Document = json.loads(STORED.read_text())
    return found


def test_the_document_is_the_stored_one(document: Document, update_golden: bool) -> None:
    """`--update-golden` writes a changed one, if it breaks nobody."""
    if STORED.exists():
        assert not breaking_changes(stored(), document)
    if update_golden:
        STORED.write_text(json.dumps(document, indent=1) + "\n")
    assert stored() == document, "the API has changed: --update-golden stores the new document"


def operations(document: Document) -> Iterator[tuple[str, Document]]:
    for path, found in document["paths"].items():
        for method, operation in found.items():
            yield f"{method.upper()} {path}", operation


ROUTES = {
    "POST /v1/jobs", "GET /v1/jobs", "GET /v1/jobs/{job_id}", "GET /v1/jobs/{job_id}/events",
    "GET /v1/jobs/{job_id}/trials", "GET /v1/trials/{trial_id}", "POST /v1/jobs/{job_id}/cancel",
    "POST /v1/jobs/{job_id}/resume", "GET /v1/best", "POST /v1/best", "GET /v1/targets",
    "GET /v1/workers", "GET /v1/workloads/{key}", "GET /v1/ops", "GET /v1/info", "GET /healthz",
    "GET /readyz", "GET /metrics",
}  # fmt: skip


def test_every_route_is_there(document: Document) -> None:
    assert {where for where, _ in operations(document)} == ROUTES


def test_every_route_says_what_it_does_and_what_may_go_wrong(document: Document) -> None:
    statuses = {str(p.status) for p in PROBLEMS.values()}
    for where, operation in operations(document):
        assert operation["description"], where
        for status, answer in operation["responses"].items():
            if status in statuses:
                assert list(answer["content"]) == ["application/problem+json"], (where, status)
        needed = {"400", "403", "421", "422", "500"}
        if where not in {"GET /healthz", "GET /readyz"}:
            needed |= {"401", "503"}
            assert operation["security"] == [{"token": []}, {}]
        assert needed <= set(operation["responses"]), where


def test_every_reference_leads_somewhere(document: Document) -> None:
    names = set(document["components"]["schemas"])

    def walk(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"].removeprefix("#/components/schemas/")
            for inner in node.values():
                yield from walk(inner)
        elif isinstance(node, list):
            for inner in node:
                yield from walk(inner)

    assert set(walk(document)) <= names


def test_bodies_come_with_examples(document: Document) -> None:
    schemas = document["components"]["schemas"]
    for name in ("JobRequest", "ResumeRequest", "BestRequest", "JobDocument", "ProblemDocument"):
        assert schemas[name]["examples"], name


Change = Callable[[Document], object]


def _schema(document: Document, name: str) -> Document:
    found: Document = document["components"]["schemas"][name]
    return found


def _parameter(document: Document, name: str) -> Document:
    found = document["paths"]["/v1/jobs"]["get"]["parameters"]
    parameter: Document = next(p for p in found if p["name"] == name)
    return parameter


def _drop_parameter(document: Document, name: str) -> None:
    document["paths"]["/v1/jobs"]["get"]["parameters"].remove(_parameter(document, name))


def _require_wish(document: Document) -> None:
    form = _schema(document, "JobRequest")
    form["properties"]["wish"] = {"type": "string"}
    form["required"].append("wish")


BREAKING: tuple[tuple[str, Change], ...] = (
    ("GET /v1/ops is gone", lambda d: d["paths"].pop("/v1/ops")),
    ("parameter limit is gone", lambda d: _drop_parameter(d, "limit")),
    ("parameter state is required now", lambda d: _parameter(d, "state").update(required=True)),
    ("answers 404 no more", lambda d: d["paths"]["/v1/jobs/{job_id}"]["get"]["responses"].pop("404")),
    (".state is gone", lambda d: _schema(d, "JobDocument")["properties"].pop("state")),
    (".trials may be string now", lambda d: _schema(d, "JobDocument")["properties"]["trials"].update(type="string")),
    (".owner is optional now", lambda d: _schema(d, "JobDocument")["required"].remove("owner")),
    (".wish is required now", _require_wish),
    (".seed is gone", lambda d: _schema(d, "JobRequest")["properties"].pop("seed")),
    ("maximum is 3 now", lambda d: _schema(d, "JobRequest")["properties"]["trials"].update(maximum=3)),
    ("knows running no more", lambda d: _schema(d, "JobDocument")["properties"]["state"]["x-known-values"].remove("running")),
    ("is multipart/form-data no more", lambda d: d["paths"]["/v1/jobs"]["post"]["requestBody"]["content"].pop("multipart/form-data")),
)  # fmt: skip


@pytest.mark.parametrize(("words", "change"), BREAKING, ids=[w for w, _ in BREAKING])
def test_a_breaking_change_is_named(words: str, change: Change) -> None:
    changed = copy.deepcopy(stored())
    change(changed)
    assert any(words in found for found in breaking_changes(stored(), changed))


def test_additions_break_nobody() -> None:
    changed = copy.deepcopy(stored())
    changed["paths"]["/v1/wishes"] = changed["paths"]["/v1/ops"]
    _schema(changed, "JobDocument")["properties"]["mood"] = {"type": "string"}
    _schema(changed, "JobDocument")["properties"]["state"]["x-known-values"].append("paused")
    _schema(changed, "JobRequest")["properties"]["mood"] = {"type": "string"}
    _parameter(changed, "limit")["schema"]["maximum"] = 1000
    changed["paths"]["/v1/jobs"]["post"]["responses"]["402"] = {"description": "x"}
    assert not breaking_changes(stored(), changed)
