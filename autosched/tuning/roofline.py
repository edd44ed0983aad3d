"""The least time a workload can take on a machine: by its operations, and by the bytes it must move.

    bound = max( operations / peak,  (inputs + outputs) / bandwidth )

with the measured peak and the measured bandwidth of the smallest memory level that holds the working set, all threads
together. Operations are those of the tensor expressions, each stage computed once.
"""

from __future__ import annotations

import math

from autosched.te.expr import operation_count
from autosched.te.workload import Stage, Workload


def operations(workload: Workload) -> float:
    """Arithmetic operations of one call; combining two values of a reduction counts as one a component."""
    return float(sum(_stage_operations(s) for s in workload.stages))


def _stage_operations(stage: Stage) -> int:
    evaluations = math.prod(a.extent.value for a in (*stage.axes, *stage.reduce_axes))
    combining = len(stage.values) if stage.is_reduction else 0
    return evaluations * (combining + sum(operation_count(v) for v in stage.values))


def compulsory_bytes(workload: Workload) -> int:
    """Bytes that any kernel must read or write: every input and output once."""
    return sum(t.n_bytes for t in (*workload.inputs, *workload.outputs))
