"""The clients' table of methods against the service's table of routes: neither has what the other lacks."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from autosched_api.app import create_app
from autosched_api.settings import Settings

from autosched.client import AsyncClient, Client, calls, submission
from autosched.client.events import Follower
from autosched.client.methods import Method, Service, Stream
from autosched.client.steps import Request

ELSEWHERE = {("get", "/healthz"), ("get", "/metrics")}
"""For whoever keeps the service running, not for its users."""

REQUESTS: dict[str, Request] = {
    "info": calls.info().request,
    "health": calls.health().request,
    "submit": submission.submit("suite:GMM/1@1", trials=1).request,
    "job": calls.job("ID").request,
    "jobs": calls.jobs().request,
    "wait": calls.job("ID").request,
    "events": Follower("ID", 0).request(),
    "cancel": calls.cancel("ID").request,
    "resume": calls.resume("ID").request,
    "trials": calls.trials("ID").request,
    "trial": calls.trial("ID").request,
    "best": calls.best("KEY").request,
    "best_many": calls.best_many(["KEY"]).request,
    "targets": calls.targets().request,
    "workers": calls.workers().request,
    "workload": calls.workload("KEY").request,
    "ops": calls.ops().request,
}
"""What each method asks."""


def methods() -> dict[str, object]:
    return {n: m for n, m in vars(Service).items() if isinstance(m, (Method, Stream))}


def test_every_method_is_known_here() -> None:
    assert set(methods()) == set(REQUESTS)


def test_every_route_has_a_method_and_every_method_a_route(tmp_path: Path) -> None:
    document = create_app(Settings(db=str(tmp_path / "s.db"))).openapi()
    routes = {
        (method, re.sub(r"\{\w+\}", "{}", path))
        for path, operations in document["paths"].items()
        for method in operations
    }
    asked = {
        (r.method.lower(), "/" + re.sub(r"\b(ID|KEY)\b", "{}", r.path)) for r in REQUESTS.values()
    }
    assert asked == routes - ELSEWHERE


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_every_method_says_what_it_does_and_takes(name: str) -> None:
    for client in (Client("http://localhost"), AsyncClient("http://localhost")):
        method = getattr(client, name)
        assert inspect.getdoc(method)
        assert "return" not in inspect.signature(method).parameters
    assert inspect.getdoc(getattr(Client, name))
