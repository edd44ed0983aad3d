"""What there is to tune of a source, and how large it may be."""

from __future__ import annotations

import json
from typing import Any

import pytest

import autosched
from autosched.entry.work import TIMES_HELD, check_task_bytes, work_of
from autosched.errors import InvalidInput
from autosched.graph.graph import Graph
from autosched.graph.importers.json import import_json
from autosched.graph.limits import machine_memory

GIB = 1 << 30


def graph(inputs: dict[str, list[int]], nodes: list[dict[str, Any]], output: str) -> Graph:
    document = {
        "autosched_graph": 1,
        "inputs": [{"name": n, "dtype": "float32", "shape": s} for n, s in inputs.items()],
        "nodes": [{"name": n["outputs"][0], **n} for n in nodes],
        "outputs": [output],
    }
    return import_json(json.dumps(document))


def relu(elements: int) -> Graph:
    return graph({"x": [elements]}, [{"op": "Relu", "inputs": ["x"], "outputs": ["y"]}], "y")


def test_a_task_may_take_what_is_allowed_and_no_byte_more() -> None:
    work = work_of(relu(1 << 10))
    check_task_bytes(work, 2 * 4 << 10)
    with pytest.raises(
        InvalidInput, match=r"takes 8192 bytes, tensor 'x'.* alone 4096: at most 8191"
    ):
        check_task_bytes(work, (2 * 4 << 10) - 1)


def test_what_lies_between_counts_too() -> None:
    """The product is never stored by a kernel, but by whoever checks one."""
    nodes = [
        {"op": "Mul", "inputs": ["x", "z"], "outputs": ["product"]},
        {"op": "ReduceMax", "inputs": ["product"], "outputs": ["y"], "attributes": {"axes": [1]}},
    ]
    work = work_of(graph({"x": [1 << 15, 1], "z": [1, 1 << 15]}, nodes, "y"))
    with pytest.raises(InvalidInput, match=rf"float32\[32768, 32768\]\) alone {4 * GIB}"):
        check_task_bytes(work, 2 * GIB)


def test_tuning_refuses_what_this_machine_cannot_hold(tmp_path: Any) -> None:
    elements = machine_memory() // TIMES_HELD // 4
    with pytest.raises(InvalidInput, match=r"tensor 'x' \(float32\[\d+\]\) alone"):
        autosched.tune(relu(elements), trials=1, db=str(tmp_path / "runs.db"))
    assert not (tmp_path / "runs.db").exists()
