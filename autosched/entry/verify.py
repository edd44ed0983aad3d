"""Run a source with the kernels the database answers and compare every value with an independent meaning."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from autosched.db.store import open_store
from autosched.entry.kernels import Kernels
from autosched.entry.machine import check_runs_here, set_up
from autosched.entry.winners import Chosen, choose
from autosched.entry.work import Work, work_of
from autosched.errors import InvalidInput
from autosched.graph.source import ModelSource
from autosched.graph.verification.expected import read_data_set, shipped_tensors
from autosched.graph.verification.report import Comparison, VerificationReport, largest_error
from autosched.graph.verification.verify import (
    verify_expected,
    verify_graph_random_weights,
    verify_random_weights,
)
from autosched.measure.protocol import InputSet
from autosched.records.lookup import Match
from autosched.tuning.check import make_check


@dataclass(frozen=True)
class Verification:
    """`report` with every comparison; `matches` counts the kernels by how they were found."""

    report: VerificationReport
    matches: dict[Match, int]


def verify(
    source: str,
    *,
    data: Path | None = None,
    random_weights: int | None = None,
    target: str = "host",
    threads: int | None = None,
    db: str | None = None,
) -> Verification:
    """Compares outputs with the model's own test data or `data`, or, with `random_weights` (a seed), every workload and
    the model's values with a reference evaluator. Cases of the suite are compared with their definition."""
    setup = set_up(target, threads)
    check_runs_here(setup)
    work = work_of(source)
    with open_store(db) as store:
        chosen = choose(work, setup, store)
    kernels = Kernels(chosen, setup)
    return Verification(_report(work, kernels, data, random_weights), _matches(chosen))


def _matches(chosen: list[Chosen]) -> dict[Match, int]:
    found: dict[Match, int] = {}
    for one in chosen:
        found[one.match] = found.get(one.match, 0) + 1
    return found


def _report(
    work: Work, kernels: Kernels, data: Path | None, random_weights: int | None
) -> VerificationReport:
    if work.model is None or work.partition is None:
        return _cases(work, kernels, random_weights or 0)
    if random_weights is not None:
        return _random(work.model, kernels, random_weights)
    if data is not None:
        expected = read_data_set(data, work.model.graph)
    elif work.model.shipped_outputs:
        expected = shipped_tensors(work.model.graph, work.model.shipped_outputs)
    else:
        raise InvalidInput(
            f"{work.name} ships no test data: give --data DIR or --random-weights SEED"
        )
    return verify_expected(work.partition, expected, kernels.run_plan)


def _random(model: ModelSource, kernels: Kernels, seed: int) -> VerificationReport:
    if model.is_onnx:
        return verify_random_weights(
            onnx.load_from_string(model.data), seed, kernels.run, whole=kernels.run_plan
        )
    return verify_graph_random_weights(model.graph, seed, kernels.run, whole=kernels.run_plan)


def _cases(work: Work, kernels: Kernels, seed: int) -> VerificationReport:
    """Every workload on the input sets that candidates are checked with."""
    rng = np.random.default_rng(seed)
    comparisons: list[Comparison] = []
    for subject in work.subjects:
        for number, inputs in enumerate(make_check(subject.workload, rng, subject.reference).sets):
            results = kernels.run(subject.workload.key, inputs.inputs)
            comparisons += _compared(subject.name, subject.workload.key, number, inputs, results)
    return VerificationReport(tuple(comparisons))


def _compared(
    name: str, key: str, number: int, inputs: InputSet, results: list[np.ndarray]
) -> list[Comparison]:
    """One comparison an output: the largest error in units of what is allowed."""
    found = []
    for i, (got, wanted, allowed) in enumerate(
        zip(results, inputs.expected, inputs.tolerances, strict=True)
    ):
        error = largest_error(got.reshape(-1), wanted.reshape(-1))
        share = 0.0 if error == 0 else error / allowed if allowed else float("inf")
        found.append(Comparison("workload", f"{name} output {i} set {number}", key, share, 1.0))
    return found
