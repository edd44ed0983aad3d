"""Running a plan with any kernels: `run(workload_key, arrays) -> arrays` is all that is known of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from autosched.errors import InvalidInput
from autosched.graph.graph import Array
from autosched.graph.partition.plan import Call, Partition, Plan
from autosched.te.dtype import numpy_dtype
from autosched.te.evaluate import evaluate_workload

Run = Callable[[str, Sequence[Array]], Sequence[Array]]

RunPlan = Callable[[Plan, Mapping[str, Array]], Mapping[str, Array]]
"""Outputs of a plan by name, for its inputs by name."""


def run_plan(plan: Plan, inputs: Mapping[str, Array], run: Run) -> dict[str, Array]:
    """Every tensor that the plan computes, by name, outputs of the graph included.

    InvalidInput if an input is missing or has another shape or dtype than the graph says.
    """
    values = {name: checked_input(plan, name, inputs) for name in plan.inputs}
    values.update(plan.constants)
    for call in plan.calls:
        values.update(
            call_outputs(plan, call, [tensor_value(plan, n, values) for n in call.inputs], run)
        )
    for name in plan.outputs:
        values[name] = tensor_value(plan, name, values)
    return values


def by_calls(run: Run) -> RunPlan:
    """A plan's runner that calls its kernels one by one."""
    return lambda plan, inputs: run_plan(plan, inputs, run)


def call_outputs(plan: Plan, call: Call, arrays: Sequence[Array], run: Run) -> dict[str, Array]:
    """The results of one call by tensor name, in the graph's shapes and dtypes. Empty ones need no kernel."""
    kinds = [plan.types[name] for name in call.outputs]
    if any(k.elements for k in kinds):
        results = run(call.workload_key, arrays)
    else:
        results = [np.empty(k.shape, numpy_dtype(k.dtype)) for k in kinds]
    return {
        name: np.asarray(array, numpy_dtype(kind.dtype)).reshape(kind.shape)
        for name, kind, array in zip(call.outputs, kinds, results, strict=True)
    }


def tensor_value(plan: Plan, name: str, values: Mapping[str, Array]) -> Array:
    """A tensor in its own shape, be it a view of another."""
    return np.asarray(values[plan.root(name)]).reshape(plan.types[name].shape)


def checked_input(plan: Plan, name: str, inputs: Mapping[str, Array]) -> Array:
    """The array of a graph input."""
    kind = plan.types[name]
    if name not in inputs:
        raise InvalidInput(f"input {name!r} ({kind}) is missing; given: {sorted(inputs)}")
    array = np.asarray(inputs[name])
    if array.shape != kind.shape or array.dtype != numpy_dtype(kind.dtype):
        raise InvalidInput(
            f"input {name!r} is {array.dtype.name}{list(array.shape)}; the graph needs {kind}"
        )
    return array


def evaluating(partition: Partition, accumulate: str | None = "float64") -> Run:
    """Kernels by evaluation of the tensor expressions: slow, and the meaning itself."""
    workloads = {task.key: task.workload for task in partition.tasks}

    def run(key: str, arrays: Sequence[Array]) -> Sequence[Array]:
        return evaluate_workload(workloads[key], arrays, accumulate)

    return run
