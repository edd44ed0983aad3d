"""Our kernels, from a built directory, as a user would run them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from autosched.bench.subject import DirectorySubject, Prepared, Subject
from autosched.runtime.directory import load_directory
from autosched.te.dtype import is_float, numpy_dtype


def prepare(subject: Subject, threads: int) -> Prepared | None:
    """A module with arrays bound; constants are packed before the clock runs."""
    if not isinstance(subject, DirectorySubject):
        return None
    module = load_directory(Path(subject.path), threads)
    rng = np.random.default_rng(1)
    inputs = {}
    for name in module.plan.inputs:
        kind = module.plan.types[name]
        values = (
            rng.standard_normal(kind.shape) * 0.1 if is_float(kind.dtype) else np.zeros(kind.shape)
        )
        inputs[name] = values.astype(numpy_dtype(kind.dtype))
    module.bind(inputs)
    return Prepared(run=module.run)
