"""Every operator of the table as cases: its own samples, awkward values and shapes included.

Left out are samples that need no kernel: no elements, nothing to compute, or nothing to compute it from (the graph folds
such constants). `LARGER` has samples for operators whose own leave little to choose.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from autosched.ops import OPS, Operator, Sample
from autosched.ops.operator import array_type
from autosched.te.workload import Tensor, Workload, placeholder
from autosched.testing.differential import Case

LARGER: dict[str, tuple[Sample, ...]] = {
    "Not": (Sample("larger", (np.arange(77).reshape(7, 11) % 3 == 0,)),),
    "Where": (
        Sample(
            "larger",
            (np.arange(13) % 2 == 0, np.arange(91.0).reshape(7, 13), np.zeros((7, 1))),
        ),
    ),
    "Tile": (Sample("larger", (np.arange(35.0).reshape(5, 7),), {"repeats": (3, 2)}),),
    "DepthToSpace": (Sample("larger", (np.arange(480.0).reshape(2, 12, 4, 5),), {"blocksize": 2}),),
    "Unsqueeze": (Sample("larger", (np.arange(77.0).reshape(7, 11),), {"axes": (1,)}),),
    "Expand": (Sample("larger", (np.arange(13.0),), {"shape": (11, 13)}),),
    "Split": (Sample("larger", (np.arange(98.0).reshape(7, 14),), {"axis": 1, "split": (5, 9)}),),
}


@lru_cache(maxsize=1)
def operator_cases() -> tuple[Case, ...]:
    rng = np.random.default_rng(11)
    found = [
        _case(operator, sample)
        for operator in OPS.values()
        for sample in (*operator.samples(rng), *LARGER.get(operator.name, ()))
    ]
    return tuple(c for c in found if c is not None)


def _case(operator: Operator, sample: Sample) -> Case | None:
    tensors: list[Tensor | None] = []
    for position, array in enumerate(sample.inputs):
        kind = array_type(array)
        tensors.append(
            None if kind is None else placeholder(f"x{position}", kind.shape, kind.dtype)
        )
    outputs = operator.te(tensors, operator.complete(sample.attributes))
    workload = Workload(operator.name, tuple(t for t in tensors if t is not None), outputs)
    arrays = tuple(a for a in sample.inputs if a is not None)
    case = Case(operator.name, f"{operator.name}-{sample.label}", workload, lambda rng: arrays)
    return case if _needs_kernel(case) else None


def _needs_kernel(case: Case) -> bool:
    written = case.workload
    if any(t.elements == 0 for t in (*written.inputs, *written.outputs)):
        return False
    outputs = case.canonical.outputs
    return all(t.stage is not None for t in outputs) and any(s.loads for s in case.canonical.stages)
