"""A whole tune on this machine: graph in, winners stored, looked up, built, run and verified."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import autosched
from autosched.cli.app import run_command
from autosched.db.store import open_store
from autosched.errors import InvalidInput
from autosched.te.workload import Workload, compute, placeholder, reduce_over

GRAPH = {
    "autosched_graph": 1,
    "inputs": [{"name": "x", "dtype": "float32", "shape": [5, 24]}],
    "constants": [
        {"name": "w", "dtype": "float32", "shape": [24, 19], "fill": 0.5},
        {"name": "b", "dtype": "float32", "shape": [19], "fill": -3.0},
    ],
    "nodes": [
        {"name": "mm", "op": "MatMul", "inputs": ["x", "w"], "outputs": ["m"]},
        {"name": "add", "op": "Add", "inputs": ["m", "b"], "outputs": ["a"]},
        {"name": "relu", "op": "Relu", "inputs": ["a"], "outputs": ["r"]},
        {"name": "soft", "op": "Softmax", "inputs": ["r"], "outputs": ["y"]},
    ],
    "outputs": ["y"],
}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph and the database of a short tune of it."""
    folder = tmp_path_factory.mktemp("tuned")
    (folder / "graph.json").write_text(json.dumps(GRAPH))
    report = autosched.tune(
        str(folder / "graph.json"), trials=6, threads=1, db=str(folder / "test.db")
    )
    assert not report.failed_tasks
    assert sum(t.trials for t in report.tasks) == 6
    assert sum(report.phase_seconds.values()) == pytest.approx(report.wall_seconds)
    return folder


def command(folder: Path, line: str) -> int:
    return run_command([part.replace("%", f"{folder}/") for part in line.split()])


def test_winners_are_found_by_their_own_query(
    tuned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tuned, "best %graph.json --threads 1 --db %test.db --json") == 0
    answers = json.loads(capsys.readouterr().out)["tasks"]
    assert answers
    for answer in answers:
        assert answer["match"] == "exact"
        assert answer["median_us"] > 0
        assert answer["derivation"]
        assert command(tuned, f"trial {answer['trial']} --source --db %test.db") == 0
        assert "kernel_r0" in capsys.readouterr().out


def test_what_the_machine_reaches_is_kept_beside_its_target(tuned: Path) -> None:
    with open_store(str(tuned / "test.db")) as store:
        (job,) = store.jobs()
        reached = store.calibration(job.spec.target_key)
    assert reached["operations_per_second.1"] > 0
    assert any(name.startswith("bytes_per_second.") for name in reached)


@pytest.mark.parametrize(("case", "match"), [("SFM/1@1", "nearest"), ("DEP/1@1", "default")])
def test_an_unknown_workload_answers_the_nearest_shape_or_the_default(
    case: str, match: str, tuned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tuned, f"best suite:{case} --threads 1 --db %test.db --json") == 0
    (answer,) = json.loads(capsys.readouterr().out)["tasks"]
    assert answer["match"] == match
    assert (answer["trial"] is None) == (match == "default")
    assert answer["values"]


def test_the_tuned_graph_is_verified_with_random_weights(
    tuned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "verify %graph.json --random-weights 2 --threads 1 --db %test.db"
    assert command(tuned, line) == 0
    assert "verified" in capsys.readouterr().out


def test_a_built_directory_runs_and_gives_what_numpy_gives(tuned: Path) -> None:
    assert command(tuned, "build %graph.json -o %built --threads 1 --db %test.db") == 0
    x = np.random.default_rng(1).standard_normal((5, 24)).astype(np.float32)
    np.savez(tuned / "in.npz", x=x)
    assert command(tuned, "run %built --input %in.npz --output %out.npz") == 0
    logits = np.maximum(x.astype(np.float64) @ np.full((24, 19), 0.5) - 3.0, 0)
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    with np.load(tuned / "out.npz") as arrays:
        got = arrays["y"]
    assert np.allclose(got, powers / powers.sum(-1, keepdims=True), rtol=1e-5, atol=1e-7)
    assert np.array_equal(autosched.load(tuned / "built")(x)["y"], got)


def test_a_module_for_another_machine_is_refused(tuned: Path) -> None:
    assert command(tuned, "build %graph.json -o %foreign --threads 1 --db %test.db") == 0
    path = tuned / "foreign" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["target"]["isa"] = "sparc"
    path.write_text(json.dumps(manifest))
    with pytest.raises(InvalidInput, match="isa"):
        autosched.load(tuned / "foreign")


def test_a_computation_of_ones_own_can_be_tuned(tmp_path: Path) -> None:
    x = placeholder("x", (7, 40))
    (y,) = compute(
        "y", {"i": 7}, lambda i: reduce_over("max", {"k": 40}, lambda k: x[i, k] * x[i, k])
    )
    workload = Workload("largest square", (x,), (y,))
    report = autosched.tune(workload, trials=2, threads=1, db=str(tmp_path / "own.db"))
    (task,) = report.tasks
    assert task.best_seconds is not None
    assert task.name == "largest square"
