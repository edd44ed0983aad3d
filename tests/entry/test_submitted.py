"""Stored tasks give the subjects that a local command has: same keys, same references."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autosched.entry.submitted import subjects_of, submitted_tasks
from autosched.entry.work import Work, work_of
from autosched.errors import InvalidInput
from autosched.graph.source import onnx_model_names
from autosched.te.workload import Workload, compute, placeholder
from autosched.tuning.check import draw_inputs
from autosched.tuning.task import Subject

SMALL = 1 << 24
"""Operations of a workload whose reference is quick to compute."""


def assert_same(local: Subject, stored: Subject, *, compute: bool) -> None:
    assert stored.workload.key == local.workload.key
    assert (stored.name, stored.weight) == (local.name, local.weight)
    assert stored.operations == local.operations
    assert (stored.reference is None) == (local.reference is None)
    if not compute or local.reference is None or stored.reference is None:
        return
    inputs = draw_inputs(local.workload, np.random.default_rng(0), "positive")
    for ours, theirs in zip(local.reference(inputs), stored.reference(inputs), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def assert_round_trip(work: Work) -> None:
    stored = subjects_of(submitted_tasks(work))
    assert len(stored) == len(work.subjects)
    for local, again in zip(work.subjects, stored, strict=True):
        assert_same(local, again, compute=local.operations <= SMALL)


@pytest.mark.parametrize("name", onnx_model_names())
def test_every_shipped_model_is_stored_whole(name: str) -> None:
    assert_round_trip(work_of(f"onnx:{name}"))


def test_every_case_of_the_suite_is_stored_whole() -> None:
    assert_round_trip(work_of("suite:*"))


def test_a_workload_of_the_users_own_is_checked_by_its_own_meaning() -> None:
    x = placeholder("x", (5, 3))
    (y,) = compute("y", {"i": 5, "j": 3}, lambda i, j: x[i, j] * x[i, j])
    (task,) = submitted_tasks(work_of(Workload("squares", (x,), (y,))))
    assert task.reference == ""
    assert subjects_of([task])[0].reference is None


def test_a_task_is_small_whatever_its_weights() -> None:
    tasks = submitted_tasks(work_of("onnx:light_resnet50"))
    assert max(len(t.reference) + len(t.workload_text) for t in tasks) < 1 << 14


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"workload_key": "w1-0"}, "its text has the key"),
        ({"workload_text": "nothing"}, "not an input or a stage"),
        ({"reference": "{"}, "not JSON"),
        ({"reference": '{"file": "/etc/passwd"}'}, "neither a graph nor a case"),
        ({"reference": '{"case": "none"}'}, "is no case"),
    ],
)
def test_a_damaged_task_is_named(change: dict[str, str], rule: str) -> None:
    (task,) = submitted_tasks(work_of("suite:GMM/1@1"))
    with pytest.raises(InvalidInput, match=rule):
        subjects_of([replace(task, **change)])
