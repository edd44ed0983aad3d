"""Whole models compared: against expected tensors, and with random weights against an independent evaluator.

With random weights every workload is compared twice: alone, fed with the reference's own values, so that the wrong
one is named; and in the running model, whose values before the last softmax (which squeezes differences away) and
whose outputs must agree too. `whole` runs the model; by default its kernels are called one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import onnx
from numpy.random import Generator, default_rng

from autosched.graph.execute import Run, RunPlan, by_calls, call_outputs, tensor_value
from autosched.graph.graph import Array, Graph, TensorType
from autosched.graph.importers.onnx import import_onnx
from autosched.graph.partition.cut import partition
from autosched.graph.partition.plan import Call, Partition, Plan
from autosched.graph.partition.policy import DEFAULT_POLICY, FusionPolicy
from autosched.graph.passes.pipeline import simplify
from autosched.graph.reference import reference_outputs, reference_values
from autosched.graph.verification.evaluator import evaluate_onnx
from autosched.graph.verification.expected import ExpectedTensors
from autosched.graph.verification.random_weights import (
    model_with_weights,
    random_weights,
    with_weights,
)
from autosched.graph.verification.report import (
    WORKLOAD_LIMIT,
    Comparison,
    Kind,
    VerificationReport,
    absolute_errors,
    relative_error,
)
from autosched.te.dtype import is_float, numpy_dtype

EXPECTED_RTOL = 1e-3
EXPECTED_ATOL = 1e-7
SOFTMAXES = ("Softmax", "LogSoftmax")


def verify_expected(
    part: Partition, expected: ExpectedTensors, run_whole: RunPlan
) -> VerificationReport:
    """The model's outputs against expected ones, element by element at onnx's own tolerance."""
    values = run_whole(part.plan, expected.inputs)
    return VerificationReport(
        tuple(
            Comparison("expected", name, "", elementwise_error(values[name], array), 1.0)
            for name, array in expected.outputs.items()
        )
    )


def verify_random_weights(
    model: onnx.ModelProto,
    seed: int,
    run: Run,
    policy: FusionPolicy = DEFAULT_POLICY,
    *,
    whole: RunPlan | None = None,
) -> VerificationReport:
    """An ONNX model with random weights against onnx's ReferenceEvaluator, workload by workload and as a whole."""
    rng = default_rng(seed)
    weights = random_weights(import_onnx(model.SerializeToString()), rng)
    changed = model_with_weights(model, weights)
    graph = import_onnx(changed.SerializeToString())
    inputs = random_inputs(graph, rng)
    reference = evaluate_onnx(changed, inputs)
    part = partition(simplify(graph), policy)
    return _compare(part, inputs, reference, run, whole or by_calls(run))


def verify_graph_random_weights(
    graph: Graph,
    seed: int,
    run: Run,
    policy: FusionPolicy = DEFAULT_POLICY,
    *,
    whole: RunPlan | None = None,
) -> VerificationReport:
    """The same for a graph that is no ONNX model, against the NumPy references of its operators."""
    rng = default_rng(seed)
    changed = with_weights(graph, random_weights(graph, rng))
    inputs = random_inputs(changed, rng)
    reference = reference_values(changed, inputs)
    part = partition(simplify(changed), policy)
    return _compare(part, inputs, reference, run, whole or by_calls(run))


def random_inputs(graph: Graph, rng: Generator) -> dict[str, Array]:
    """Standard normal floats, and small integers."""
    return {name: _random_array(graph.types[name], rng) for name in graph.inputs}


def elementwise_error(actual: Array, expected: Array) -> float:
    """Largest |actual - expected| / (atol + rtol |expected|); at most 1 passes. Infinities and NaN must be the same."""
    if actual.shape != expected.shape:
        return float("inf")
    wanted = np.abs(np.nan_to_num(expected.astype(np.float64), posinf=0.0, neginf=0.0))
    share = absolute_errors(actual, expected) / (EXPECTED_ATOL + EXPECTED_RTOL * wanted)
    return float(np.max(share, initial=0.0))


def _random_array(kind: TensorType, rng: Generator) -> Array:
    if is_float(kind.dtype):
        return rng.standard_normal(kind.shape).astype(numpy_dtype(kind.dtype))
    return rng.integers(0, 2, kind.shape).astype(numpy_dtype(kind.dtype))


def _compare(
    part: Partition,
    inputs: Mapping[str, Array],
    reference: Mapping[str, Array],
    run: Run,
    whole: RunPlan,
) -> VerificationReport:
    alone = _workloads_alone(part, inputs, reference, run)
    logits = _logits(part, reference)
    outputs: dict[str, tuple[Kind, str]] = {name: ("output", name) for name in part.plan.outputs}
    values = whole(replace(part.plan, outputs=tuple({**logits, **outputs})), inputs)
    running = [
        Comparison(kind, alias, "", _error(values[name], reference[alias]), WORKLOAD_LIMIT)
        for named in (logits, outputs)
        for name, (kind, alias) in named.items()
    ]
    return VerificationReport((*alone, *running))


def _workloads_alone(
    part: Partition, inputs: Mapping[str, Array], reference: Mapping[str, Array], run: Run
) -> list[Comparison]:
    """Every call on the reference's values of its inputs."""
    plan = part.plan
    names = _names_of_memory(plan)
    known: dict[str, Array] = {**plan.constants, **inputs}
    comparisons = []
    for call in plan.calls:
        arrays = [tensor_value(plan, name, known) for name in call.inputs]
        actual = call_outputs(plan, call, arrays, run)
        wanted = _wanted(part, call, arrays, reference, names)
        for name, array in wanted.items():
            error = _error(actual[name], array)
            comparisons.append(
                Comparison("workload", name, call.workload_key, error, WORKLOAD_LIMIT)
            )
        known.update(wanted)
    return comparisons


def _wanted(
    part: Partition,
    call: Call,
    arrays: list[Array],
    reference: Mapping[str, Array],
    names: Mapping[str, tuple[str, ...]],
) -> dict[str, Array]:
    """The reference's values of a call's outputs, under any name of their memory; a tensor that only the passes
    know is computed by the operators' own references."""
    found: dict[str, Array] = {}
    for name in call.outputs:
        for alias in names[name]:
            if alias in reference:
                found[name] = np.reshape(reference[alias], part.plan.types[name].shape)
                break
    if len(found) < len(call.outputs):
        subgraph = part.task(call.workload_key).subgraph
        own = dict(zip(call.outputs, reference_outputs(subgraph, arrays), strict=True))
        found = {**own, **found}
    return found


def _names_of_memory(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Every tensor that a call makes -> itself and the views of it."""
    names: dict[str, tuple[str, ...]] = {n: (n,) for c in plan.calls for n in c.outputs}
    for view, root in plan.views.items():
        if root in names:
            names[root] = (*names[root], view)
    return names


def _logits(part: Partition, reference: Mapping[str, Array]) -> dict[str, tuple[Kind, str]]:
    """What the last softmax of the model reads, if a call makes it: the tensor -> the name the reference has for it."""
    softmaxes = [node for node in part.graph.nodes if node.op in SOFTMAXES]
    if not softmaxes:
        return {}
    root = part.plan.root(softmaxes[-1].inputs[0])
    names = _names_of_memory(part.plan).get(root, ())
    alias = next((name for name in names if name in reference), None)
    return {} if alias is None else {root: ("logits", alias)}


def _error(actual: Array, expected: Array) -> float:
    return relative_error(actual, np.reshape(expected, actual.shape))
