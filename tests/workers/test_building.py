"""Kernels divided among forges, of which some lose what they build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from autosched_workers.cluster.building import Building
from autosched_workers.cluster.calls import Build
from autosched_workers.simulation.lab import SimulatedLab
from ray import exceptions

from autosched.codegen.kernel import Kernel
from autosched.entry.machine import Setup
from autosched.measure.protocol import BuildResult
from autosched.records.outcome import Outcome

GONE = exceptions.ActorUnavailableError("gone", None)
ERROR = Outcome.COMPILE_ERROR


@dataclass
class Forge:
    """Answers each kernel by one outcome, or raises. An answer is there when it is asked for."""

    does: Outcome | Exception
    built: list[str] = field(default_factory=list)

    @property
    def build(self) -> Any:
        return self

    def remote(self, setup: Setup, kernels: Sequence[Kernel], *, together: bool) -> object:
        self.built += [k.name for k in kernels]
        if isinstance(self.does, Exception):
            return self.does
        return [BuildResult(self.does, error=k.name) for k in kernels]


def get(answer: object) -> object:
    if isinstance(answer, Exception):
        raise answer
    return answer


def built(forges: Sequence[Forge], n: int, others: Sequence[Forge] = ()) -> list[BuildResult]:
    offer = SimulatedLab(0.0).offer()
    kernels = tuple(Kernel(f"k{i}", "c", "", (), (), (), (), (), (), 0) for i in range(n))
    setup = Setup(offer.target, offer.toolchain)
    return Building(Build((), setup, kernels, together=True), get).by([forges, others])


@pytest.mark.parametrize("loses", [GONE, Outcome.LOST])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_what_one_loses_another_builds(loses: Outcome | Exception, n: int) -> None:
    forges = [Forge(loses), Forge(ERROR)]
    found = built(forges, n)
    assert [(r.outcome, r.error) for r in found] == [(ERROR, f"k{i}") for i in range(n)]
    assert sorted(forges[1].built) == [f"k{i}" for i in range(n)], "each once"


def test_a_result_that_says_something_of_a_kernel_stands() -> None:
    forges = [Forge(ERROR), Forge(ERROR)]
    assert [r.outcome for r in built(forges, 3)] == [ERROR] * 3
    assert sorted(forges[0].built + forges[1].built) == ["k0", "k1", "k2"]


def test_what_all_lose_is_lost() -> None:
    forges = [Forge(Outcome.LOST), Forge(Outcome.LOST)]
    assert [r.outcome for r in built(forges, 2)] == [Outcome.LOST] * 2
    with pytest.raises(exceptions.ActorUnavailableError):
        built([Forge(GONE), Forge(GONE)], 2)


def test_others_are_asked_only_for_what_the_first_lose() -> None:
    first, other = Forge(ERROR), Forge(ERROR)
    built([first], 2, [other])
    assert (first.built, other.built) == (["k0", "k1"], [])
    assert [r.outcome for r in built([Forge(GONE)], 2, [other])] == [ERROR] * 2
    assert other.built == ["k0", "k1"]


def test_our_own_fault_is_raised() -> None:
    with pytest.raises(exceptions.RuntimeEnvSetupError):
        built([Forge(exceptions.RuntimeEnvSetupError("none")), Forge(ERROR)], 2)
