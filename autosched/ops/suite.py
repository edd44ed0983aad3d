"""The shipped suite of operator cases by name: `C2D/3@1` is the third convolution at batch 1.

The cases are data (`suite_data/ansor_paper.json`: Zheng et al., OSDI 2020, appendix C).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.ops.suite_kinds import KINDS, Arguments, SuiteKind
from autosched.te.workload import Workload

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """One named case of the suite."""

    name: str
    kind: SuiteKind
    batch: int
    args: Arguments

    def workload(self) -> Workload:
        """The case as written, not in canonical form."""
        inputs = self.kind.inputs(self.batch, self.args)
        return Workload(self.name, inputs, (self.kind.te(inputs, self.args),))

    def inputs(self, random: np.random.Generator) -> tuple[Array, ...]:
        """Float32 arrays in the workload's order, normal, weights scaled so that outputs are near 1."""
        operands = self.kind.operands(self.batch, self.args)
        return tuple(
            (random.standard_normal(o.shape) * _scale(o.shape, o.constant)).astype(np.float32)
            for o in operands
        )

    def reference(self, inputs: tuple[Array, ...]) -> Array:
        """The output by NumPy, in the dtype that the inputs promote to."""
        return self.kind.reference(inputs, self.args)


def _scale(shape: tuple[int, ...], constant: bool) -> float:
    fan_in = int(np.prod(shape[:-1])) if constant and len(shape) > 1 else 1
    return float(np.sqrt(2.0 / fan_in)) if fan_in > 1 else 1.0


@lru_cache(maxsize=1)
def suite_cases() -> Mapping[str, Case]:
    """Every case by its name, in the order of the file."""
    text = files("autosched.ops").joinpath("suite_data/ansor_paper.json").read_text("utf-8")
    return {
        c["name"]: Case(c["name"], KINDS[c["op"]], c["batch"], c["args"])
        for c in json.loads(text)["cases"]
    }


def suite_names(pattern: str = "*") -> tuple[str, ...]:
    """The names that match a shell pattern; InvalidInput if none does."""
    names = tuple(n for n in suite_cases() if fnmatchcase(n, pattern))
    if not names:
        raise InvalidInput(f"suite:{pattern} matches no case; names look like C2D/3@1 or GMM/*@16")
    return names


def suite_case(name: str) -> Case:
    """The case of this name; InvalidInput if there is none."""
    found = suite_cases().get(name)
    if found is None:
        raise InvalidInput(f"suite:{name} is no case; names look like C2D/3@1 (kind/number@batch)")
    return found


def suite_workload(name: str) -> Workload:
    """The workload of a case as written, not in canonical form."""
    return suite_case(name).workload()
