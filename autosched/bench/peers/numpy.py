"""NumPy: matrix products into a given output. It has nothing else to compare."""

from __future__ import annotations

import numpy as np

from autosched.bench.form import MatrixProduct, random_array
from autosched.bench.subject import CaseSubject, Prepared, Subject


def prepare(subject: Subject, threads: int) -> Prepared | None:
    """A matmul with `out=`; threads are those of the BLAS, set by the environment."""
    if not isinstance(subject, CaseSubject) or not isinstance(subject.form, MatrixProduct):
        return None
    left, right = random_array(subject.form.left, 1), random_array(subject.form.right, 2)
    out = np.empty((*left.shape[:-1], right.shape[-1]), np.float32)
    return Prepared(run=lambda: np.matmul(left, right, out=out))
