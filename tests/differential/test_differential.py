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
from autosched.nest.interpret import interpret
from autosched.sketch.generate import CPU_RULES
from autosched.testing.differential import Candidate, Case, candidates, difference, reference
from tests.codegen.running import AVX2, AVX2_FLAGS, FLAGS, Loaded
from tests.differential.workloads import cases

PER_CASE = 60
LEAST = 2000
LEAST_PER_GROUP = 20

NAMES = [c.name for c in cases()]


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--differential-seed"))


@lru_cache(maxsize=4)
def _plan(name: str, seed: int) -> tuple[Candidate, ...]:
    (case,) = [c for c in cases() if c.name == name]
    return tuple(candidates(case, AVX2, _stream(case, seed), PER_CASE))


def _stream(case: Case, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(case.name.encode())])


def test_plan_covers_kinds_rules_tails_and_units(seed: int) -> None:
    plan = [c for name in NAMES for c in _plan(name, seed)]
    assert len(plan) >= LEAST
    kinds = Counter(c.case.kind for c in plan)
    rules = Counter(rule for c in plan for rule in set(c.rules))
    expected = {rule.name for rules in CPU_RULES for rule in rules}
    short = {k: n for k, n in (kinds + rules).items() if n < LEAST_PER_GROUP}
    assert not short, f"seed {seed}"
    assert expected <= set(rules), f"seed {seed}"
    assert sum(c.has_tail for c in plan) >= 0.4 * len(plan)
    assert sum(c.case.has_unit_extent for c in plan) >= 0.1 * len(plan)


@pytest.mark.parametrize("name", NAMES)
def test_interpreter_and_c_equal_the_reference(name: str, seed: int, tmp_path: Path) -> None:
    plan = _plan(name, seed)
    case = plan[0].case
    inputs = case.inputs(_stream(case, seed))
    expected = reference(case, inputs)
    wrong: list[str] = []
    kernels: list[Kernel] = []
    for number, candidate in enumerate(plan):
        meaning = interpret(candidate.sketch.nest, candidate.environment, inputs)
        _note(wrong, candidate, "interpreter", difference(case, meaning, expected))
        nest, env = candidate.sketch.nest, candidate.environment
        kernels.append(generate_c(nest, env, AVX2, f"k{number}"))
    library = _compiled(kernels, tmp_path)
    for candidate, kernel in zip(plan, kernels, strict=True):
        loaded = Loaded(kernel, inputs, library)
        loaded.prepare()
        loaded.run()
        _note(wrong, candidate, "C", difference(case, loaded.outputs, expected))
    assert not wrong, f"seed {seed}: {len(wrong)} wrong, among them\n" + "\n".join(wrong[:3])


def _note(wrong: list[str], candidate: Candidate, reader: str, what: str) -> None:
    if what:
        wrong.append(f"{reader}: {what}\n  {candidate.describe()}")


def _compiled(kernels: Sequence[Kernel], directory: Path) -> ctypes.CDLL:
    """All kernels in one library, each from a file of its own."""
    for kernel in kernels:
        (directory / f"{kernel.name}.c").write_text(kernel.source)
    sources = [f"{k.name}.c" for k in kernels]
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
