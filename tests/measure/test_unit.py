"""Several kernels in one compile: each is what it would be alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autosched.codegen.kernel import Kernel
from autosched.measure.build import LocalBuilder
from autosched.measure.protocol import TimingPolicy
from autosched.measure.runner import LocalRunner
from autosched.measure.unit import MOST_KERNELS, shares, unit_of
from autosched.records.outcome import Outcome
from autosched.testing.kernels import HEAD, doubling_check, doubling_kernel

TWICE = "static float twice(float x) { return 2 * x; }\n"
THRICE = "static float thrice(float x) { return 3 * x; }\n"
LOOP = (
    "for (int64_t i = first; i < last; ++i) ((float *)out[0])[i] = {}(((const float *)in[0])[i]);"
)


def sharing_kernel(function: str, *definitions: str) -> Kernel:
    kernel = doubling_kernel(LOOP.format(function), "".join(definitions))
    return replace(kernel, definitions=(HEAD, *definitions))


def test_every_kernel_of_a_unit_is_its_own(builder: LocalBuilder, runner: LocalRunner) -> None:
    kernels = [
        sharing_kernel("twice", TWICE) if i % 2 else sharing_kernel("thrice", TWICE, THRICE)
        for i in range(8)
    ]
    found = builder.build(kernels, together=True)
    objects = [r.artefact.shared_object for r in found if r.artefact]
    assert len(objects) == 8
    assert len(set(objects)) < 8
    for number in (0, 1, 6, 7):
        artefact = found[number].artefact
        assert artefact is not None
        measured = runner.measure(artefact, doubling_check(), TimingPolicy(threads=1))
        assert measured.source_digest == kernels[number].digest
        right = (Outcome.OK, Outcome.UNSTABLE)
        assert measured.outcome in (right if number % 2 else (Outcome.WRONG_RESULT,)), measured


def test_one_that_fails_spoils_no_other(builder: LocalBuilder) -> None:
    kernels = [sharing_kernel("twice", TWICE)] * 5 + [sharing_kernel("@", TWICE)]
    outcomes = [r.outcome for r in builder.build([*kernels, *kernels[:2]], together=True)]
    assert outcomes == [Outcome.OK] * 5 + [Outcome.COMPILE_ERROR] + [Outcome.OK] * 2


def test_a_kernel_whose_definitions_are_unknown_is_compiled_alone(builder: LocalBuilder) -> None:
    found = builder.build([doubling_kernel(f"/* {i} */") for i in range(8)], together=True)
    assert [r.outcome for r in found] == [Outcome.OK] * 8
    assert {r.artefact.kernel.regions[0].symbol for r in found if r.artefact} == {"k_r0"}


def test_definitions_stand_once_and_digests_stay() -> None:
    kernels = [sharing_kernel("twice", TWICE), sharing_kernel("thrice", TWICE, THRICE)]
    unit = unit_of(kernels)
    assert unit.source.count(TWICE) == unit.source.count(THRICE) == unit.source.count(HEAD) == 1
    assert [k.digest for k in unit.kernels] == [k.digest for k in kernels]
    assert [k.regions[0].symbol for k in unit.kernels] == ["k_r0_0", "k_r0_1"]


@pytest.mark.parametrize("count", [0, 1, 3, 16, 17, 64, 200])
@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_shares_cover_all_and_keep_every_job_busy(count: int, jobs: int) -> None:
    parts = shares(count, jobs)
    assert [n for part in parts for n in part] == list(range(count))
    assert all(len(p) <= MOST_KERNELS for p in parts)
    assert len(parts) >= min(count, 2 * jobs)
