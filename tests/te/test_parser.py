"""A workload's canonical text gives the same workload again."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.errors import InvalidInput
from autosched.ops.suite import suite_names, suite_workload
from autosched.te.canonical import canonical
from autosched.te.evaluate import evaluate_workload
from autosched.te.parser import parse_workload
from autosched.te.workload import Workload, canonical_text, compute, placeholder, reduce_over


@pytest.mark.parametrize("name", suite_names("*@1"))
def test_every_case_of_the_suite_is_read_back(name: str) -> None:
    workload = canonical(suite_workload(name))
    text = canonical_text(workload)
    again = parse_workload(text, name)
    assert canonical_text(again) == text
    assert again.key == workload.key
    assert [t.constant for t in again.inputs] == [t.constant for t in workload.inputs]


def test_a_tuple_reduction_means_the_same_when_read_back() -> None:
    x = placeholder("x", (5, 7))
    index, value = compute(
        "best",
        {"i": 5},
        lambda i: reduce_over("argmax", {"k": 7}, lambda k: (x[i, k], as_index(k))),
    )
    workload = canonical(Workload("argmax", (x,), (index, value)))
    again = parse_workload(canonical_text(workload), "argmax")
    data = np.random.default_rng(1).standard_normal((5, 7)).astype(np.float32)
    for a, b in zip(
        evaluate_workload(workload, [data]), evaluate_workload(again, [data]), strict=True
    ):
        assert np.array_equal(a, b)


def as_index(k: object) -> object:
    from autosched.te.expr import Index

    return Index(k)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "in0: float32[4]",
        "in0: float99[4]\nreturn in0",
        "in0: float32[4]\ns0: float32[i0<4] = exp(in1[i0])\nreturn s0",
        "in0: float32[4]\ns0: float32[i0<4] = __import__(in0[i0])\nreturn s0",
        "in0: float32[4]\ns0: float32[i0<4] = in0[i0] over r0<4 by (1)\nreturn s0",
        "in0: float32[4]\ns0: float32[i0<4] = exp(in0[i0]\nreturn s0",
        "in0: float32[4]\nreturn s9",
        "in0: float32[4]\ns0: float31[i0<4] = in0[i0]\nreturn s0",
        "in0: float32[4]\ns0: float32[i0<4] = in0[i0, i0]\nreturn s0",
        "in0: float32[4]\ns0: float32[i0<4] = in0[i0], in0[i0]\nreturn s0",
        "in0: float32[4]\ns0: float32[i0<4] = in0[i0] over r0<4\nreturn s0",
        "in0: float32[4]\ns0: float32[i0<4] = in0[min(i0)]\nreturn s0",
        "in0: float32[4]\ns0: float32[i0<4] = in0[ceildiv(i0, 2, 3)]\nreturn s0",
        "in0: float32[4]\ns0: int32[i0<4] = 0x1.8p+0:int32\nreturn s0",
        "in0: float32[4]\ns0: int32[i0<4] = inf:int32\nreturn s0",
        f"in0: float32[4]\ns0: float32[i0<4] = {'(' * 10_000}\nreturn s0",
    ],
)
def test_what_is_no_workload_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_workload(text, "bad")
