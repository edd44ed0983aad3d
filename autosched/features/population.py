"""Many candidates at once: a sketch number and a row of decision values each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
ABSENT = 1
"""Value of a decision that the candidate's sketch does not have."""


@dataclass(frozen=True, eq=False)
class Population:
    """`sketch`: int32 [n], an index into the space; `values`: int64 [n, names], one column a decision name of the
    space, `ABSENT` where the sketch lacks the decision."""

    sketch: Array
    values: Array

    def __len__(self) -> int:
        return len(self.sketch)

    def take(self, rows: Array | slice) -> Population:
        """The candidates at these rows (indices, a mask or a slice), in that order."""
        return Population(self.sketch[rows], self.values[rows])

    def distinct(self) -> Population:
        """Without repeated rows; the first of each stays, in order."""
        if len(self) < 2:
            return self
        rows = np.column_stack([self.sketch.astype(np.int64), self.values])
        packed = np.ascontiguousarray(rows).view([("", np.int64)] * rows.shape[1]).ravel()
        first = np.unique(packed, return_index=True)[1]
        return self.take(np.sort(first))


def joined(parts: Sequence[Population], n_names: int) -> Population:
    """The candidates of all parts in order; `n_names` columns if there is none."""
    if not parts:
        return Population(np.zeros(0, np.int32), np.zeros((0, n_names), np.int64))
    return Population(
        np.concatenate([p.sketch for p in parts]), np.concatenate([p.values for p in parts])
    )


def row_of(names: Sequence[str], values: Mapping[str, int]) -> Array:
    """One row of values over all names."""
    return np.array([values.get(name, ABSENT) for name in names], np.int64)
