"""Every suite case: its workload means what NumPy says, as written and in canonical form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from autosched.errors import InvalidInput
from autosched.ops.suite import Case, suite_case, suite_names, suite_workload
from autosched.te.canonical import canonical
from autosched.te.evaluate import evaluate_workload
from autosched.te.workload import canonical_text

SMALLER = {
    "depth": 5, "length": 13, "height": 7, "width": 9, "in_channels": 8, "out_channels": 12,
    "channels": 6, "n": 11, "m": 7, "k": 5, "seq": 6, "heads": 3, "dim": 5,
}  # fmt: skip


def shrunk(name: str) -> Case:
    """The case with its sizes cut to a few odd numbers; window and groups stay."""
    case = suite_case(name)
    args: Mapping[str, int] = {k: min(v, SMALLER.get(k, v)) for k, v in case.args.items()}
    return Case(name, case.kind, min(case.batch, 2), args)


@pytest.mark.parametrize("name", suite_names())
def test_small_case_equals_numpy(name: str) -> None:
    case = shrunk(name)
    workload = case.workload()
    inputs = case.inputs(np.random.default_rng(1))
    expected = case.reference(tuple(a.astype(np.float64) for a in inputs))
    (found,) = evaluate_workload(workload, inputs)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    form = canonical(workload)
    (again,) = evaluate_workload(form, inputs)
    np.testing.assert_allclose(again.ravel(), expected.ravel(), rtol=1e-10, atol=1e-10)
    assert canonical_text(canonical(form)) == canonical_text(form)


@pytest.mark.parametrize("name", [n for n in suite_names("*@1") if n[0] != "C" or n[1] == "B"])
def test_full_size_output_shape(name: str) -> None:
    case = suite_case(name)
    assert case.workload().outputs[0].elements == canonical(case.workload()).outputs[0].elements


def test_there_are_13_kinds_of_8_cases() -> None:
    assert len(suite_names()) == 104
    assert len(suite_names("*@1")) == 52
    assert len({n.split("/")[0] for n in suite_names()}) == 13


def test_unknown_names_are_named() -> None:
    with pytest.raises(InvalidInput, match="C2D/9@1"):
        suite_workload("C2D/9@1")
    with pytest.raises(InvalidInput, match="XYZ"):
        suite_names("XYZ*")


def test_a_transposed_convolution_sums_only_taps_that_count() -> None:
    """Kernel 4 at stride 2 leaves 2 taps a dimension in each phase."""
    conv = canonical(suite_workload("T2D/1@1")).stages[0]
    assert sorted(a.extent.value for a in conv.reduce_axes) == [2, 2, 512]


@pytest.mark.parametrize("name", ["GMM/1@1", "TBS/1@1"])
def test_no_operand_of_matmul_and_scores_is_constant(name: str) -> None:
    assert not any(t.constant for t in suite_workload(name).inputs)


def test_weights_are_constant() -> None:
    assert [t.constant for t in suite_workload("CBR/2@1").inputs] == [False, True, True, True, True]
