"""What the command line answers: a clear line and status 2 for whatever a user gets wrong, never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autosched.cli.app import run_command

BAD_GRAPHS = {
    "cycle": {
        "inputs": [{"name": "x", "dtype": "float32", "shape": [2]}],
        "nodes": [
            {"name": "a", "op": "Add", "inputs": ["x", "q"], "outputs": ["p"]},
            {"name": "b", "op": "Relu", "inputs": ["p"], "outputs": ["q"]},
        ],
        "outputs": ["q"],
    },
    "unknown operator": {
        "inputs": [{"name": "x", "dtype": "float32", "shape": [2]}],
        "nodes": [{"name": "a", "op": "Frobnicate", "inputs": ["x"], "outputs": ["y"]}],
        "outputs": ["y"],
    },
    "shape mismatch": {
        "inputs": [
            {"name": "x", "dtype": "float32", "shape": [2, 3]},
            {"name": "z", "dtype": "float32", "shape": [4, 5]},
        ],
        "nodes": [{"name": "a", "op": "MatMul", "inputs": ["x", "z"], "outputs": ["y"]}],
        "outputs": ["y"],
    },
    "absurd size": {
        "inputs": [{"name": "x", "dtype": "float32", "shape": [1 << 40, 1 << 40]}],
        "nodes": [{"name": "a", "op": "Relu", "inputs": ["x"], "outputs": ["y"]}],
        "outputs": ["y"],
    },
    "missing output": {
        "inputs": [{"name": "x", "dtype": "float32", "shape": [2]}],
        "nodes": [{"name": "a", "op": "Relu", "inputs": ["x"], "outputs": ["y"]}],
        "outputs": ["nowhere"],
    },
}

COMMANDS = [
    "tune suite:GMM/1@1 --trials 0",
    "tune suite:GMM/1@1 --trials -4",
    "tune suite:GMM/1@1 --trials many",
    "tune suite:GMM/1@1 --trials 99999999999999999999",
    "tune suite:GMM/1@1 --trials 1 --seed -1",
    "tune suite:GMM/1@1 --trials 1 --threads 0",
    "tune suite:GMM/1@1 --trials 1 --threads 100000",
    "tune suite:GMM/1@1 --trials 1 --target nowhere",
    "tune suite:GMM/1@1 --trials 1 --compiler /nowhere/cc",
    "tune suite:GMM/1@1 --trials 1 --db /proc/nowhere/x.db",
    "tune suite:GMM/1@1 --trials 1 --db mysql://host/x",
    "tune suite:NOPE/1@1 --trials 1",
    "tune onnx:nope --trials 1",
    "tune nowhere.onnx --trials 1",
    "tune picture.png --trials 1",
    "tune",
    "best suite:NOPE*",
    "verify nowhere.json",
    "bench suite:GMM/1@1 --peers tensorflow",
    "run nowhere --input a.npz --output b.npz",
    "explain nowhere.onnx",
    "suite list NOPE*",
    "db import nowhere.jsonl",
    "db prune --days 1000000",
    "trial nothing",
    "trial nothing.999999999999999999999999",
    "frobnicate",
]


@pytest.fixture(autouse=True)
def own_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOSCHED_DB", str(tmp_path / "test.db"))


def assert_one_clear_error(status: int, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = capsys.readouterr()
    assert status == 2, err
    assert out == ""
    assert "rror" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("line", COMMANDS)
def test_bad_usage_is_status_2(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert_one_clear_error(run_command(line.split()), capsys)


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs_are_status_2(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"autosched_graph": 1, **BAD_GRAPHS[name]}))
    assert_one_clear_error(run_command(["tune", str(path), "--trials", "1"]), capsys)


@pytest.mark.parametrize(
    "data", [b"", b"\x00" * 64, b"not a model", b"\x08\x07\x12\xff\xff\xff\xff\x0f"]
)
def test_hostile_onnx_is_status_2(
    data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    assert_one_clear_error(run_command(["explain", str(path)]), capsys)


def test_the_operators_listed_are_those_of_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["ops", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert run_command(["ops"]) == 0
    names = capsys.readouterr().out.split()
    assert names == schema["$defs"]["NodeDocument"]["properties"]["op"]["enum"]
    assert {"Conv", "Range", "Size"} <= set(names)


def test_single_workloads_are_explained_by_name_and_key(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_command(["explain", "suite:GMM/*@1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [w["name"] for w in document["workloads"]] == [f"GMM/{i}@1" for i in range(1, 5)]
    assert len({w["workload_key"] for w in document["workloads"]}) == 4
    assert document["edges"] == []


def test_help_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["--help"]) == 0
    assert "tune" in capsys.readouterr().out


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_streams_end_no_command(closed: tuple[int, ...]) -> None:
    redirections = " ".join(f"{number}>&-" for number in closed)
    command = f'exec "$0" -m autosched ops {redirections}'
    assert subprocess.run(["sh", "-c", command, sys.executable], check=False).returncode == 0
