"""docker-compose.yml keeps its promises: by the schema of its format, and by what each service may reach."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from autosched.cli.app import app
from tests.api.process import ROOT
from tests.cluster.compose import compose

OURS = sorted(set(compose()["services"]) - {"database"})
ONCE = "migrate"
"""Runs to its end; the others stay."""


def check(file: Path) -> subprocess.CompletedProcess[str]:
    command = ["-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)


def test_it_is_valid_by_the_compose_specification(tmp_path: Path) -> None:
    done = check(ROOT / "docker-compose.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    broken = {**compose(), "services": {"api": {"image": "x", "port": ["1:1"]}}}
    (tmp_path / "broken.yml").write_text(yaml.safe_dump(broken))
    assert check(tmp_path / "broken.yml").returncode == 1


def service(name: str) -> dict[str, Any]:
    found: dict[str, Any] = compose()["services"][name]
    return found


def test_only_the_api_is_published_and_only_it_is_on_a_network_with_a_way_out() -> None:
    networks = compose()["networks"]
    inner = {name for name, network in networks.items() if (network or {}).get("internal")}
    for name in compose()["services"]:
        published = service(name).get("ports", [])
        assert published == (["8700:8700"] if name == "api" else [])
        assert set(service(name)["networks"]) <= (set(networks) if name == "api" else inner)
    assert not {"data", "cluster"} - inner


@pytest.mark.parametrize("name", OURS)
def test_programs_are_reaped_restarted_and_ended_politely(name: str) -> None:
    found = service(name)
    assert found["init"] is True
    assert found["restart"] == ("no" if name == ONCE else "unless-stopped")
    if "cluster" in found["networks"]:
        assert "shm_size" in found, "Ray keeps its objects in shared memory"


def parse(command: Any, words: list[str]) -> None:
    """Raises if these are no arguments of the command."""
    if words and hasattr(command, "commands"):
        parse(command.commands[words[0]], words[1:])
    else:
        command.make_context("autosched", words)


def test_commands_in_its_comments_parse() -> None:
    comments = " ".join(
        line[1:]
        for line in (ROOT / "docker-compose.yml").read_text().splitlines()
        if line[:1] == "#"
    )
    quoted = [found.split() for found in re.findall(r"exec \w+ autosched ([^`]+)`", comments)]
    assert quoted
    for words in quoted:
        parse(typer.main.get_command(app), words)


def test_secrets_come_from_the_environment_and_must_be_there() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    secrets = re.findall(r"\$\{(\w+)([^}]*)\}", text)
    assert {name for name, _ in secrets} == {"POSTGRES_PASSWORD", "RAY_AUTH_TOKEN"}
    assert {how for _, how in secrets} == {":?set it in the environment"}


def test_workers_know_no_database_and_the_api_no_cluster() -> None:
    for name in ("worker", "worker-gpu", "head"):
        assert "data" not in service(name)["networks"]
        assert "AUTOSCHED_DB" not in service(name)["environment"]
    assert "RAY_AUTH_TOKEN" not in service("api")["environment"]
    gpu = service("worker-gpu")
    assert gpu["profiles"] == ["gpu"]
    reserved = gpu["deploy"]["resources"]["reservations"]["devices"]
    assert [d["capabilities"] for d in reserved] == [["gpu"]]
    assert gpu["command"] == service("worker")["command"]
