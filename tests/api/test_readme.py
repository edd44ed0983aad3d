"""The README's requests are ones that the service takes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from starlette.routing import compile_path

from autosched.wire.submission import JobRequest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_every_address_in_it_is_one_of_the_document() -> None:
    document = json.loads((ROOT / "api" / "openapi.json").read_text())
    named = {f"/v1/{path}" for path in re.findall(r"8700/v1/([\w./]+)", README)}
    assert {"/v1/jobs", "/v1/jobs/ID/events", "/v1/best"} <= named
    known = [compile_path(template)[0] for template in document["paths"]]
    assert [p for p in named if not any(k.match(p) for k in known)] == []


def test_every_job_in_it_is_one() -> None:
    bodies = [json.loads(body) for body in re.findall(r"'(?:request=)?(\{.*?\})", README)]
    jobs = [b for b in bodies if "trials" in b]
    assert len(jobs) == 2
    for job in jobs:
        JobRequest.model_validate(job)
