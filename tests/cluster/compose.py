"""docker-compose.yml as data: which command a service runs, and what its environment names."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from tests.api.process import ROOT


@cache
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return found


def command_of(service: str) -> tuple[str, ...]:
    """As it runs where the package is not installed."""
    program, *words = compose()["services"][service]["command"]
    if program == "autosched":
        return ("python", "-m", "autosched", *words)
    return (program, *words)


def checks() -> dict[str, tuple[str, ...]]:
    """The command of each service's health check, where it has one."""
    tests = {
        name: service["healthcheck"]["test"]
        for name, service in compose()["services"].items()
        if "healthcheck" in service
    }
    return {
        name: ("sh", "-c", *words) if how == "CMD-SHELL" else tuple(words)
        for name, (how, *words) in tests.items()
    }


def names_of(service: str) -> frozenset[str]:
    """The variables that a service is told."""
    return frozenset(compose()["services"][service]["environment"])
