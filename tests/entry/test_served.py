"""Lookup, build and replay at a service: the same as on this machine's database, and nothing of it taken on trust."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autosched
from autosched.cli.app import run_command
from autosched.db.store import open_store
from autosched.entry.machine import set_up
from autosched.entry.served_target import find, nearest
from autosched.errors import InvalidInput
from autosched.target.files import load_target
from autosched.target.target import Target
from autosched.wire.machine import TargetDocument
from autosched.wire.trial import toolchain_document, trial_detail
from tests.client.scripted import (
    DROP,
    JOB,
    Answer,
    Asked,
    Scripted,
    answer,
    serving,
)
from tests.client.served import api

GRAPH = {
    "autosched_graph": 1,
    "inputs": [{"name": "x", "dtype": "float32", "shape": [32, 64]}],
    "constants": [{"name": "w", "dtype": "float32", "shape": [64, 32], "fill": 0.5}],
    "nodes": [{"name": "mm", "op": "MatMul", "inputs": ["x", "w"], "outputs": ["y"]}],
    "outputs": ["y"],
}
SETUP = set_up("host", 1)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph, the database of a short tune of it, and what is known of its winner."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "graph.json").write_text(json.dumps(GRAPH))
    report = autosched.tune(
        str(folder / "graph.json"), trials=3, threads=1, db=str(folder / "test.db")
    )
    assert not report.failed_tasks
    return folder


@pytest.fixture
def local(tuned: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the local command answers."""
    assert command(tuned, "best %graph.json --threads 1 --db %test.db --json") == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def command(folder: Path, line: str) -> int:
    return run_command([part.replace("%", f"{folder}/") for part in line.split()])


def target_document(target: Target, threads: int) -> dict[str, Any]:
    most = replace(target, threads=threads)
    document = TargetDocument(
        key=most.key,
        names=[],
        fields=json.loads(json.dumps(asdict(most))),
        max_threads=threads,
        workers=1,
        available=True,
    )
    return document.model_dump(mode="json")


class Service:
    """Answers lookups with `tasks`; its only target is `target`."""

    def __init__(self, scripted: Scripted, tasks: list[dict[str, Any]]) -> None:
        self.url = scripted.url
        self.tasks = tasks
        self.target = SETUP.target
        self.is_away = False
        self.asked: list[dict[str, Any]] = []
        scripted.handle = self.handle

    def handle(self, asked: Asked) -> Answer:
        if self.is_away:
            return DROP
        if asked.path.startswith("/v1/targets"):
            return answer({"items": [target_document(self.target, 64)]})
        if asked.method == "GET":
            return answer({"type": "urn:autosched:problem:no-such-target"}, 422)
        self.asked.append(json.loads(asked.body))
        return answer({"tasks": self.tasks})


@pytest.fixture
def service(local: dict[str, Any]) -> Iterator[Service]:
    with serving() as scripted:
        yield Service(scripted, copy.deepcopy(local["tasks"]))


def served(folder: Path, service: Service, cache: Path, line: str) -> int:
    return command(folder, f"{line} --threads 1 --cache {cache} --server {service.url}")


def looked_up(
    folder: Path, service: Service, cache: Path, capsys: pytest.CaptureFixture[str]
) -> list[dict[str, Any]]:
    assert served(folder, service, cache, "best %graph.json --json") == 0
    tasks: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["tasks"]
    return tasks


def test_best_prints_what_the_local_command_prints(
    tuned: Path,
    service: Service,
    local: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert looked_up(tuned, service, tmp_path, capsys) == local["tasks"]
    (asked,) = service.asked
    assert asked["workloads"] == [t["workload_key"] for t in local["tasks"]]
    assert asked["toolchain"] == SETUP.toolchain.key
    assert asked["threads"] == 1
    assert served(tuned, service, tmp_path, "best %graph.json") == 0
    there = capsys.readouterr()
    assert command(tuned, "best %graph.json --threads 1 --db %test.db") == 0
    assert capsys.readouterr() == there


def test_build_compiles_here_what_the_service_knows(
    tuned: Path, service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert served(tuned, service, tmp_path / "cache", f"build %graph.json -o {tmp_path}/built") == 0
    assert "1 kernel (1 exact)" in capsys.readouterr().out
    x = np.random.default_rng(0).normal(size=(32, 64)).astype(np.float32)
    module = autosched.load(str(tmp_path / "built"))
    assert np.allclose(module(x)["y"], x @ np.full((64, 32), 0.5, np.float32), atol=1e-3)


def test_while_the_service_is_away_the_cache_answers_and_stderr_says_so(
    tuned: Path,
    service: Service,
    local: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("autosched.cli.best.LOOKUP_SECONDS", 0.1)
    looked_up(tuned, service, tmp_path, capsys)
    service.is_away = True
    assert served(tuned, service, tmp_path, "best %graph.json --json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == local
    assert "the server is away, so 1 of 1 answers are from the cache" in err
    assert service.url in err
    assert served(tuned, service, tmp_path / "other", "best %graph.json --json") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert f"holds no answer of {service.url} for 1 of 1 workloads" in err
    assert "(tasks MatMul 32x32 mm)" in err


def spoil(task: dict[str, Any], kind: str) -> None:
    name = next(iter(task["values"]))
    match kind:
        case "out of its domain":
            task["values"][name] = 1_000_003
        case "negative":
            task["values"][name] = -4
        case "missing":
            del task["values"][name]
        case "another name":
            task["values"]["system"] = 1
        case "unknown rule":
            task["derivation"][0]["rule"] = "#include </etc/passwd>"
        case "later rule":
            task["derivation"][0]["version"] = 99
        case "another stage":
            task["derivation"][0]["stage"] = "s9"
        case "nonsense":
            task["derivation"] = [{"a": [{}, None]}]


@pytest.mark.parametrize(
    "kind",
    [
        "out of its domain",
        "negative",
        "missing",
        "another name",
        "unknown rule",
        "later rule",
        "another stage",
        "nonsense",
    ],
)
@pytest.mark.parametrize("match", ["exact", "compatible", "nearest"])
def test_what_the_rules_do_not_give_never_becomes_text(
    kind: str,
    match: str,
    tuned: Path,
    service: Service,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    service.tasks[0]["match"] = match
    spoil(service.tasks[0], kind)
    (found,) = looked_up(tuned, service, tmp_path, capsys)
    assert found["match"] == ("nearest" if _fits(kind, match) else "default")
    spoiled = service.tasks[0]
    assert (found["derivation"], found["values"]) != (spoiled["derivation"], spoiled["values"])
    assert "passwd" not in json.dumps(found)


def _fits(kind: str, match: str) -> bool:
    """Values of a near winner are moved into the domains here, whatever they were there."""
    return match == "nearest" and kind in {
        "out of its domain",
        "negative",
        "missing",
        "another name",
    }


def test_another_text_is_not_exact(
    tuned: Path, service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service.tasks[0]["source_digest"] = "k1-of-another-printer"
    (found,) = looked_up(tuned, service, tmp_path, capsys)
    assert found["match"] == "compatible"
    assert "another text" in found["reason"]


def test_answers_for_another_machine_are_compatible_at_best(
    tuned: Path, service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service.target = replace(SETUP.target, l2_bytes=SETUP.target.l2_bytes * 2)
    (found,) = looked_up(tuned, service, tmp_path, capsys)
    assert found["match"] == "compatible"
    assert "l2_bytes" in found["reason"]


def test_a_service_without_a_target_that_runs_here_is_named(
    tuned: Path, service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = ["aarch64-neon", "x86-64-avx512"]
    service.target = next(t for n in others if (t := load_target(n)).isa != SETUP.target.isa)
    assert served(tuned, service, tmp_path, "best %graph.json") == 2
    assert "isa: need" in capsys.readouterr().err


def test_an_untuned_source_is_a_default_that_the_service_said(
    tuned: Path, service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = {"match": "default", "reason": "nothing is stored", "trial": None, "derivation": []}
    service.tasks[0].update(empty, values={}, median_us=None, measured_at=None)
    assert served(tuned, service, tmp_path, "best %graph.json") == 0
    out, err = capsys.readouterr()
    assert "nothing is stored" in out
    assert f"--trials N --server {service.url}" in err


def test_a_trial_of_a_service_is_shown_and_generated_here(
    tuned: Path, local: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    trial_id = local["tasks"][0]["trial"]
    with open_store(str(tuned / "test.db")) as store, serving() as scripted:
        trial = store.trial(trial_id)
        assert trial is not None
        job = store.job(trial.task_id.rpartition(".")[0])
        assert job is not None
        detail = trial_detail(
            trial,
            dict(job.tasks)[trial.task_id],
            (job.spec.target_key, dict(store.target(job.spec.target_key) or {})),
            toolchain_document(
                job.spec.toolchain_key, dict(store.toolchain(job.spec.toolchain_key) or {})
            ),
            store.measurements(trial_id),
        ).model_dump(mode="json")
        scripted.handle = lambda a: answer(detail if "/trials/" in a.path else {**JOB, "seed": 0})
        for view in ("--source", "--nest"):
            assert command(tuned, f"trial {trial_id} {view} --server {scripted.url}") == 0
            there = capsys.readouterr().out
            assert command(tuned, f"trial {trial_id} {view} --db %test.db") == 0
            assert capsys.readouterr().out == there
        assert command(tuned, f"trial {trial_id} --server {scripted.url}") == 0
        there = capsys.readouterr().out
        assert command(tuned, f"trial {trial_id} --db %test.db") == 0
        here = capsys.readouterr().out
        said = ("job", "compile")  # a service says neither paths nor, of another's job, the file
        assert [line for line in here.splitlines() if not line.startswith(said)] == [
            line for line in there.splitlines() if not line.startswith(said)
        ]


def test_targets_are_found_by_all_but_their_threads() -> None:
    document = TargetDocument.model_validate(target_document(SETUP.target, 8))
    found = find([document], replace(SETUP.target, threads=3))
    assert found is not None
    assert (found.target, found.threads, found.differs) == (document.key, 3, "")
    assert find([document], replace(SETUP.target, threads=9)) is None
    many = nearest([document], replace(SETUP.target, threads=9))
    assert "threads" in many.differs
    assert many.threads == 8
    with pytest.raises(InvalidInput, match="no target yet"):
        nearest([], SETUP.target)


def test_shapes_that_were_never_tuned_find_near_ones_and_stored_machines_their_own(
    tuned: Path, local: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real API on the database of a local tune, where this machine is no worker."""
    shutil.copy(tuned / "test.db", tmp_path / "service.db")
    other = json.dumps(GRAPH).replace("[32, 64]", "[36, 64]")
    (tmp_path / "other.json").write_text(other)
    with api(tmp_path) as service:
        options = f"--threads 1 --cache {tmp_path}/cache --server {service.url} --json"
        assert command(tuned, f"best %graph.json {options}") == 0
        assert json.loads(capsys.readouterr().out) == local
        assert command(tmp_path, f"best %other.json {options}") == 0
        there = capsys.readouterr().out
        assert command(tmp_path, f"best %other.json --threads 1 --db {tuned}/test.db --json") == 0
        assert json.loads(capsys.readouterr().out) == json.loads(there)
        assert json.loads(there)["tasks"][0]["match"] == "nearest"
