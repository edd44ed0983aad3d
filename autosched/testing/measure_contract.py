"""What every builder and runner promises, as one suite over all of them.

A subclass gives fixtures `builder` and `runner`; they must know the kernels of `KERNELS`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from autosched.codegen.kernel import Kernel
from autosched.measure.protocol import Artefact, Builder, Runner, TimingPolicy
from autosched.records.outcome import Outcome
from autosched.testing.kernels import DOUBLE, doubling_check, doubling_kernel

SLOW = f"for (volatile int n = 0; n < 50000; n++); {DOUBLE}"
KERNELS: dict[str, Kernel] = {
    "good": doubling_kernel(),
    "slow": doubling_kernel(SLOW),
    "wrong": doubling_kernel("return;"),
    "broken": doubling_kernel("this is no C"),
}
SIMULATED: dict[str, float | Outcome] = {
    "good": 1e-6,
    "slow": 1e-4,
    "wrong": Outcome.WRONG_RESULT,
    "broken": Outcome.COMPILE_ERROR,
}
"""What a machine without hardware answers for them."""

POLICY = TimingPolicy(threads=1, cap_seconds=0.005)


class MeasureContract:
    """Run with pytest through a subclass in tests/contract."""

    def test_one_build_result_a_kernel_in_order(self, builder: Builder) -> None:
        names = ["broken", "good", "broken", "slow"]
        results = builder.build([KERNELS[n] for n in names])
        assert [r.outcome is Outcome.OK for r in results] == [n != "broken" for n in names]
        assert builder.build([]) == []

    def test_an_artefact_comes_with_ok_and_only_then(self, builder: Builder) -> None:
        for result in builder.build(list(KERNELS.values())):
            assert (result.artefact is not None) == (result.outcome is Outcome.OK)
            assert (result.error == "") == (result.outcome is Outcome.OK)

    def test_a_measurement_has_a_time_if_it_is_ok_and_names_its_code(
        self, builder: Builder, runner: Runner
    ) -> None:
        for name, outcome in (("good", Outcome.OK), ("wrong", Outcome.WRONG_RESULT)):
            found = runner.measure(_built(builder, name), doubling_check(), POLICY)
            busy = found.outcome is Outcome.UNSTABLE and outcome is Outcome.OK
            assert found.outcome is outcome or busy
            assert (found.timing is not None) == (outcome is Outcome.OK)
            assert found.source_digest == KERNELS[name].digest

    def test_a_slow_kernel_is_still_measured(self, builder: Builder, runner: Runner) -> None:
        policy = replace(POLICY, best_seconds=1e-6)
        found = runner.measure(_built(builder, "slow"), doubling_check(), policy)
        assert found.timing is not None
        assert found.timing.median_seconds > 1e-5

    def test_side_by_side_keeps_the_order_and_leaves_out_what_failed(
        self, builder: Builder, runner: Runner
    ) -> None:
        names = ["slow", "wrong", "good"]
        artefacts = [_built(builder, n) for n in names]
        slow, wrong, good = runner.side_by_side(artefacts, doubling_check().sets[0], POLICY)
        assert wrong is None
        assert slow is not None
        assert good is not None
        assert slow.median_seconds > good.median_seconds
        assert runner.side_by_side([], doubling_check().sets[0], POLICY) == []


def _built(builder: Builder, name: str) -> Artefact:
    artefact = builder.build([KERNELS[name]])[0].artefact
    if artefact is None:
        pytest.fail(f"kernel {name} was not built")
    return artefact
