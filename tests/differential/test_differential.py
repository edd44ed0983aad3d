"""Random candidates of every sketch: interpreter = C = the meaning of the workload.

Each case draws its candidates from the seed (`--differential-seed`, shown in the report's header) and its own name, so
one case can be run alone.
"""

from __future__ import annotations

import ctypes
import subprocess
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from autosched.codegen.c import generate_c
from autosched.codegen.kernel import Kernel
from autosched.nest.digest import concrete_digest
from autosched.nest.interpret import interpret
from autosched.nest.observer import AccessError
from autosched.nest.verify import verify
from autosched.ops import OPS
from autosched.sketch.generate import CPU_RULES
from autosched.testing.differential import (
    Array,
    Candidate,
    Case,
    candidates,
    difference,
    reference,
)
from tests.codegen.running import AVX2, AVX2_FLAGS, FLAGS, Loaded
from tests.differential.operators import operator_cases
from tests.differential.workloads import cases

PER_CASE = 24
PER_OPERATOR = 24
LEAST = 2000
LEAST_PER_GROUP = 20


def _by_kind() -> dict[str, list[Case]]:
    kinds: dict[str, list[Case]] = {}
    for case in (*cases(), *operator_cases()):
        kinds.setdefault(case.kind, []).append(case)
    return kinds


KINDS = _by_kind()


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--differential-seed"))


@lru_cache(maxsize=4)
def _plan(kind: str, seed: int) -> tuple[Candidate, ...]:
    """Candidates of every case of a kind; an operator's many samples share its number."""
    found: list[Candidate] = []
    for number, case in enumerate(KINDS[kind]):
        left = len(KINDS[kind]) - number
        share = PER_CASE if kind not in OPS else -(-(PER_OPERATOR - len(found)) // left)
        found += candidates(case, AVX2, _stream(case, seed), max(share, 1))
    return tuple(found)


def _stream(case: Case, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(case.name.encode())])


def test_plan_covers_kinds_rules_tails_and_units(seed: int) -> None:
    plan = [c for kind in KINDS for c in _plan(kind, seed)]
    assert len(plan) >= LEAST
    kinds = Counter(c.case.kind for c in plan)
    rules = Counter(rule for c in plan for rule in set(c.rules))
    expected = {rule.name for rules in CPU_RULES for rule in rules}
    short = {k: n for k, n in (kinds + rules).items() if n < LEAST_PER_GROUP}
    assert not short, f"seed {seed}"
    assert expected <= set(rules), f"seed {seed}"
    assert sum(c.has_tail for c in plan) >= 0.4 * len(plan)
    assert sum(c.case.has_unit_extent for c in plan) >= 0.1 * len(plan)


@pytest.mark.parametrize("kind", KINDS)
def test_interpreter_and_c_equal_the_reference(kind: str, seed: int, tmp_path: Path) -> None:
    plan = _plan(kind, seed)
    kernels = [_kernel(candidate) for candidate in plan]
    library = _compiled(kernels, tmp_path)
    wrong: list[str] = []
    for case in KINDS[kind]:
        inputs = case.inputs(_stream(case, seed))
        expected = reference(case, inputs)
        for candidate, kernel in zip(plan, kernels, strict=True):
            if candidate.case is case:
                _check(wrong, candidate, inputs, expected, Loaded(kernel, inputs, library))
    assert not wrong, f"seed {seed}: {len(wrong)} wrong, among them\n" + "\n".join(wrong[:3])


def _kernel(candidate: Candidate) -> Kernel:
    """Named by its code, so that what is the same is compiled once."""
    nest, environment = candidate.sketch.nest, candidate.environment
    name = concrete_digest(nest, environment).replace("-", "_")
    return generate_c(nest, environment, AVX2, name)


def _check(
    wrong: list[str],
    candidate: Candidate,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    loaded: Loaded,
) -> None:
    nest, environment = candidate.sketch.nest, candidate.environment
    for violation in verify(nest, environment):
        _note(wrong, candidate, "verifier", str(violation))
    try:
        meaning = interpret(nest, environment, inputs)
    except AccessError as error:
        _note(wrong, candidate, "interpreter", str(error))
        return
    _note(wrong, candidate, "interpreter", difference(candidate.case, meaning, expected))
    loaded.prepare()
    loaded.run()
    _note(wrong, candidate, "C", difference(candidate.case, loaded.outputs, expected))


def _note(wrong: list[str], candidate: Candidate, reader: str, what: str) -> None:
    if what:
        wrong.append(f"{reader}: {what}\n  {candidate.describe()}")


def _compiled(kernels: Sequence[Kernel], directory: Path) -> ctypes.CDLL:
    """All kernels in one library, each from a file of its own."""
    for kernel in kernels:
        (directory / f"{kernel.name}.c").write_text(kernel.source)
    sources = sorted({f"{k.name}.c" for k in kernels})
    flags = [f for f in FLAGS if f != "-O2"]
    command = [
        "gcc",
        *flags,
        "-O1",
        *AVX2_FLAGS,
        "-w",
        "-shared",
        "-fPIC",
        *sources,
        "-o",
        "all.so",
        "-lm",
    ]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    return ctypes.CDLL(str(directory / "all.so"))
