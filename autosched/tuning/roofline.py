"""The least time a workload can take on a machine: by its operations, and by the bytes it must move.

    bound = max( operations / peak,  (inputs + outputs) / bandwidth )

with the measured peak and the measured bandwidth of the smallest memory level that holds the working set, all threads
together. Operations are those of the tensor expressions, each stage computed once.
"""

from __future__ import annotations

from autosched.te.workload import Workload


def operations(workload: Workload) -> float:
    """Arithmetic operations of one call."""
    return float(sum(s.evaluations * s.operations for s in workload.stages))


def compulsory_bytes(workload: Workload) -> int:
    """Bytes that any kernel must read or write: every input and output once."""
    return sum(t.n_bytes for t in (*workload.inputs, *workload.outputs))
