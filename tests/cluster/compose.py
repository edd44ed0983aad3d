"""docker-compose.yml as data: which command a service runs, and what its environment names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from tests.api.process import ROOT


@cache
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return found


def command_of(service: str, addresses: Mapping[str, str]) -> tuple[str, ...]:
    """With the addresses of hosts in place of their names, which only an engine's resolver knows."""
    program, *words = compose()["services"][service]["command"]
    command = ["python", "-m", "autosched", *words] if program == "autosched" else [program, *words]
    for name, address in addresses.items():
        command = [w.replace(f"{name}:", f"{address}:") for w in command]
    return tuple(command)


def names_of(service: str) -> frozenset[str]:
    """The variables that a service is told."""
    return frozenset(compose()["services"][service]["environment"])
